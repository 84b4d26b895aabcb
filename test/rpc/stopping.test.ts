import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test } from "vitest";
import { openRaw, parseResponse } from "./support/rawConnection.ts";
import { startEdges } from "./support/startEdges.ts";

const liveness = "GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\n";

describe("[protocol §9] stopping", () => {
  const request = (body = '{"key":"sk_1"}') =>
    `POST /v2/keys.verifyKey HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

  test("without lingering idle connections close at once, running calls finish with Connection: close and GOAWAY, new ones are refused", async () => {
    const gate = Promise.withResolvers<object>();
    await using edges = await startEdges({ invoke: () => gate.promise });
    const silent = await openRaw(edges.port);
    const idle = await openRaw(edges.port);
    await idle.send(liveness);
    await idle.until(/\}$/);
    const running = await openRaw(edges.port);
    await running.send(request());
    const session = connectHttp2(edges.url);
    const stream = session.request({
      ":method": "POST",
      ":path": "/v2/keys.verifyKey",
      authorization: "Bearer x",
      "content-type": "application/json",
    });
    stream.end('{"key":"sk_1"}');
    while (edges.invocations.length < 2) await new Promise((resolve) => setImmediate(resolve));

    const goaway = once(session, "goaway");
    const stopped = edges.listener.stop();
    await Promise.all([silent.ended, idle.ended, goaway]);
    await expect(openRaw(edges.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const response = once(stream, "response");
    gate.resolve({ data: { valid: true, code: 1 } });
    const { text } = await running.ended;
    expect(parseResponse(text).status).toBe(200);
    expect(parseResponse(text).headers.get("connection")).toBe("close");
    expect((await response)[0][":status"]).toBe(200);
    stream.resume();
    await stopped;
  });

  test("a request that comes while it lingers is answered with Connection: close, and it is over when all are closed", async () => {
    await using edges = await startEdges({ linger: 60_000 });
    const idle = await openRaw(edges.port);
    await idle.send(liveness);
    await idle.until(/\}$/);
    const fresh = await openRaw(edges.port);
    const session = connectHttp2(edges.url);
    await once(session, "remoteSettings");
    const goaway = once(session, "goaway");
    const stopped = edges.listener.stop();
    expect((await goaway)[0]).toBe(0);
    await expect(openRaw(edges.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const first = idle.received().length;
    for (const connection of [idle, fresh]) await connection.send(liveness);
    const answers = [(await idle.ended).text.slice(first), (await fresh.ended).text].map(parseResponse);
    for (const { status, headers } of answers) expect([status, headers.get("connection")]).toEqual([200, "close"]);
    await stopped;
  });

  test("idle connections close once it has lingered", async () => {
    await using edges = await startEdges({ linger: 50 });
    const silent = await openRaw(edges.port);
    const idle = await openRaw(edges.port);
    await idle.send(liveness);
    await idle.until(/\}$/);
    await edges.listener.stop();
    expect((await Promise.all([silent.ended, idle.ended])).map(({ error }) => error)).toEqual([undefined, undefined]);
  });

  test("calls that do not finish in time are cut off and their signals aborted", async () => {
    const aborted = Promise.withResolvers<unknown>();
    await using edges = await startEdges({
      invoke: ({ call }) => {
        call.signal.addEventListener("abort", () => aborted.resolve(call.signal.reason));
        return new Promise(() => undefined);
      },
    });
    const running = await openRaw(edges.port);
    await running.send(request());
    while (edges.invocations.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await edges.listener.stop(10);
    expect(await aborted.promise).toMatchObject({ reason: "client_closed_request" });
    expect((await running.ended).text).toBe("");
  });

  test("stopping again waits for the same end", async () => {
    await using edges = await startEdges();
    const [first, second] = [edges.listener.stop(), edges.listener.stop()];
    await Promise.all([first, second]);
    expect(first).toBe(second);
  });
});
