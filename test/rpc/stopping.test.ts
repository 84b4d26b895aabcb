import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test } from "vitest";
import { frame, literal } from "../../bench/attacks/rawHttp2.ts";
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

  test("a request that comes while it lingers is answered with Connection: close or GOAWAY, and it is over when all are closed", async () => {
    await using edges = await startEdges({ linger: 60_000 });
    const idle = await openRaw(edges.port);
    await idle.send(liveness);
    await idle.until(/\}$/);
    const fresh = await openRaw(edges.port);
    const session = connectHttp2(edges.url);
    await once(session, "remoteSettings");
    const goaway = once(session, "goaway");
    const stopped = edges.listener.stop();
    const stream = session.request({ ":path": "/v2/liveness" });
    stream.resume();
    expect((await once(stream, "response"))[0][":status"]).toBe(200);
    expect((await goaway)[0]).toBe(0);
    await expect(openRaw(edges.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const first = idle.received().length;
    for (const connection of [idle, fresh]) await connection.send(liveness);
    const answers = [(await idle.ended).text.slice(first), (await fresh.ended).text].map(parseResponse);
    for (const { status, headers } of answers) expect([status, headers.get("connection")]).toEqual([200, "close"]);
    await stopped;
  });

  describe("over HTTP/2 a client is asked to go with its next call", () => {
    const [data, headers, settings] = [0, 1, 4];
    const [endStream, endHeaders] = [1, 4];
    const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(settings, 0, 0, Buffer.alloc(0))]);
    const fields = (method: string, path: string): Buffer =>
      Buffer.concat(
        Object.entries({ ":method": method, ":scheme": "http", ":authority": "x", ":path": path }).map(([k, v]) => literal(k, v)),
      );
    const call = (stream: number): Buffer => frame(headers, endStream | endHeaders, stream, fields("GET", "/v2/liveness"));
    const authorized = Buffer.concat([literal("authorization", "Bearer x"), literal("content-type", "application/json")]);
    const verification = (stream: number): Buffer =>
      Buffer.concat([
        frame(headers, endHeaders, stream, Buffer.concat([fields("POST", "/v2/keys.verifyKey"), authorized])),
        frame(data, endStream, stream, Buffer.from('{"key":"sk_1"}')),
      ]);
    const settingsHeard = "\0\x04\x01\0\0\0\0";
    /** A GOAWAY frame without an error, with the last stream that the server serves, as text of Latin-1. */
    const goaway = (lastStream: string): string => `\0\0\x08\x07\0\0\0\0\0${lastStream}\0\0\0\0`;
    const [anyStream, firstStream, noStream] = ["\x7f\xff\xff\xff", "\0\0\0\x01", "\0\0\0\0"].map(goaway) as [string, string, string];
    const withSettings = async (port: number) => {
      const connection = await openRaw(port);
      await connection.send(preface);
      await connection.until(new RegExp(settingsHeard));
      return connection;
    };

    test("which is answered, also on a connection that was only accepted", async () => {
      await using edges = await startEdges({ linger: 60_000 });
      const known = await withSettings(edges.port);
      const fresh = await openRaw(edges.port);
      // Earlier connections were accepted before one that is answered.
      const later = await openRaw(edges.port);
      await later.send(liveness);
      await later.until(/\}$/);
      later.socket.destroy();
      const stopped = edges.listener.stop();
      await known.send(call(1));
      await fresh.send(Buffer.concat([preface, call(1)]));
      for (const { text, error } of await Promise.all([known.ended, fresh.ended])) {
        expect(error).toBeUndefined();
        expect(text).toMatch(/\{.*\}/s);
        expect(text.split(anyStream)).toHaveLength(2);
        expect(text).toContain(firstStream);
        expect(text).not.toContain(noStream);
      }
      await stopped;
    });

    test("a request that crosses the GOAWAY is not started, and the client learns it", async () => {
      const gate = Promise.withResolvers<object>();
      await using edges = await startEdges({ invoke: () => gate.promise, linger: 60_000 });
      const connection = await withSettings(edges.port);
      const stopped = edges.listener.stop();
      await connection.send(verification(1));
      await connection.until(new RegExp(firstStream));
      await connection.send(verification(3));
      while (edges.invocations.length === 0) await new Promise((resolve) => setImmediate(resolve));
      gate.resolve({ data: { valid: true, code: 1 } });
      const { text, error } = await connection.ended;
      expect(error).toBeUndefined();
      expect(text.indexOf(anyStream)).toBeLessThan(text.indexOf(firstStream));
      expect(text.match(/"valid":true/g)).toHaveLength(1);
      expect(edges.invocations).toHaveLength(1);
      await stopped;
    });

    test("or once it has lingered, when it makes none", async () => {
      await using edges = await startEdges({ linger: 50 });
      const connection = await withSettings(edges.port);
      await edges.listener.stop();
      const { text, error } = await connection.ended;
      expect(error).toBeUndefined();
      expect(text.indexOf(anyStream)).toBeLessThan(text.indexOf(noStream));
    });
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
