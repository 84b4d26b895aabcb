import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test } from "vitest";
import { exchange, openRaw, parseResponse } from "./support/rawConnection.ts";
import { startEdges } from "./support/startEdges.ts";

const verify = "/v2/keys.verifyKey";
const limit = 10_485_760;
const answered = { data: { valid: true, code: 1 } };

const head = (length: number | "chunked", more = "") =>
  `POST ${verify} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n${more}` +
  `${length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`}\r\n\r\n`;

/** A valid request padded with white space to a size. */
const bodyOf = (size: number): string => `{"key":"sk_1"}${" ".repeat(size - 14)}`;

const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;

describe("[protocol §3] sizes", () => {
  test.each([
    ["declared", (body: string) => head(body.length) + body],
    // All of it may have come by then, so that the connection need not be closed for its sake.
    ["chunked", (body: string) => head("chunked", "Connection: close\r\n") + chunk(body.slice(0, 5)) + chunk(body.slice(5)) + chunk("")],
  ])("a body of exactly the limit is accepted, one byte more is 413: %s", async (_, request) => {
    await using edges = await startEdges({ invoke: () => answered });
    const connection = await openRaw(edges.port);
    void connection.send(request(bodyOf(limit)));
    expect(parseResponse(await connection.until(/\}$/)).status).toBe(200);
    connection.socket.destroy();

    const { text, error } = await exchange(edges.port, request(bodyOf(limit + 1)));
    const response = parseResponse(text);
    expect([response.status, error]).toEqual([413, undefined]);
    expect(response.headers.get("connection")).toBe("close");
    const body = JSON.parse(response.body);
    expect(body.error).toMatchObject({ title: "Request Entity Too Large", status: 413, errors: [] });
    expect(body.error.detail).toContain("10485760");
    expect(body.error.type).toMatch(/\/errors\/user\/bad_request\/request_body_too_large$/);
    expect(edges.refused).toEqual([{ method: "VerifyKey", reason: "request_body_too_large" }]);
  });

  test("the 413 is there before the body is sent, and the connection is not reset while it is", async () => {
    await using edges = await startEdges({ maxBodyBytes: 1000 });
    const connection = await openRaw(edges.port);
    await connection.send(head(30_000_000));
    expect(parseResponse(await connection.until(/\}$/)).status).toBe(413);
    const part = "x".repeat(1_000_000);
    for (let sent = 0; sent < 30; sent++) await connection.send(part);
    expect((await connection.ended).error).toBeUndefined();
  });

  test("a client that keeps on sending without end is cut off", async () => {
    await using edges = await startEdges({ maxBodyBytes: 1000 });
    const connection = await openRaw(edges.port);
    await connection.send(head("chunked"));
    const part = chunk("x".repeat(4_000_000));
    let open = true;
    void connection.ended.then(() => {
      open = false;
    });
    for (let sent = 0; sent < 40 && open; sent++) await connection.send(part);
    expect(parseResponse((await connection.ended).text).status).toBe(413);
  });

  test("over HTTP/2 the 413 is read while the body is still being sent, and the connection stays", async () => {
    await using edges = await startEdges({ maxBodyBytes: 1000, invoke: () => answered });
    const session = connectHttp2(edges.url);
    const headers = { ":method": "POST", ":path": verify, authorization: "Bearer x", "content-type": "application/json" };
    const large = session.request(headers);
    large.on("error", () => undefined);
    large.write("x".repeat(5_000_000));
    const [response] = await once(large, "response");
    expect(response[":status"]).toBe(413);
    large.end();
    large.resume();
    await once(large, "close");
    const next = session.request(headers);
    next.end(bodyOf(20));
    expect((await once(next, "response"))[0][":status"]).toBe(200);
    session.destroy();
  });

  test("the limit counts no bytes of a small body that is refused: its connection is kept", async () => {
    await using edges = await startEdges();
    const connection = await openRaw(edges.port);
    const request = `POST ${verify} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`;
    await connection.send(request + request);
    expect((await connection.until(/(401.*){4}\}$/s)).match(/HTTP\/1\.1 401/g)).toHaveLength(2);
    connection.socket.destroy();
  });
});

describe("[protocol §9] unreadable bodies", () => {
  test("a body that comes in pieces, slowly, is put together", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    for (const length of [20, "chunked"] as const) {
      const connection = await openRaw(edges.port);
      await connection.send(head(length));
      for (const byte of bodyOf(20)) {
        await connection.send(length === 20 ? byte : chunk(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (length === "chunked") await connection.send(chunk(""));
      expect(parseResponse(await connection.until(/\}$/)).status).toBe(200);
      connection.socket.destroy();
    }
    expect(edges.invocations.map(({ message }) => message)).toMatchObject([{ key: "sk_1" }, { key: "sk_1" }]);
  });

  test.each([
    ["bad chunking", `${head("chunked")}zz\r\nhello\r\n`],
    ["a chunk longer than its size", `${head("chunked")}2\r\nhello\r\n0\r\n\r\n`],
  ])("%s is 400 request_body_unreadable", async (_, request) => {
    await using edges = await startEdges();
    const { text } = await exchange(edges.port, request);
    const response = parseResponse(text);
    expect(response.status).toBe(400);
    expect(JSON.parse(response.body)).toMatchObject({
      meta: { requestId: expect.stringMatching(/^req_/) },
      error: { errors: [], type: expect.stringMatching(/\/errors\/user\/bad_request\/request_body_unreadable$/) },
    });
    expect(edges.invocations).toEqual([]);
  });

  test("half a body is 400 request_body_unreadable when the client stops sending", async () => {
    await using edges = await startEdges();
    const connection = await openRaw(edges.port);
    await connection.send(`${head(100)}{"key"`);
    connection.socket.end();
    const { text } = await connection.ended;
    expect(parseResponse(text).status).toBe(400);
    expect(text).toContain("request_body_unreadable");
  });

  test("a client that disconnects halfway through its body leaves nothing behind", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    for (let i = 0; i < 10; i++) {
      const connection = await openRaw(edges.port);
      await connection.send(`${head(100)}{"key"`);
      connection.socket.resetAndDestroy();
    }
    const session = connectHttp2(edges.url);
    const stream = session.request({ ":method": "POST", ":path": verify, authorization: "Bearer x", "content-type": "application/json" });
    stream.on("error", () => undefined);
    stream.write("{");
    await once(session, "remoteSettings");
    session.destroy();
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
    expect(edges.invocations).toEqual([]);
  });

  test("100-continue is sent when the body is wanted, and not when the request is refused before it", async () => {
    await using edges = await startEdges({ invoke: () => answered, maxBodyBytes: 1000 });
    const wanted = await openRaw(edges.port);
    await wanted.send(head(20, "Expect: 100-continue\r\n"));
    await wanted.until(/100 Continue\r\n\r\n/);
    await wanted.send(bodyOf(20));
    await wanted.until(/200 OK/);
    wanted.socket.destroy();

    const refused = await openRaw(edges.port);
    await refused.send(head(2000, "Expect: 100-continue\r\n"));
    expect(parseResponse(await refused.until(/\}$/)).status).toBe(413);
    refused.socket.destroy();

    const other = await openRaw(edges.port);
    await other.send(head(20, "Expect: something\r\n") + bodyOf(20));
    await other.until(/200 OK/);
    other.socket.destroy();
  });
});

describe("[protocol §2] clients that disconnect", () => {
  test.each(["closes", "resets", "stops sending on"])("the call's signal is aborted when the client %s its connection", async (how) => {
    const aborted = Promise.withResolvers<unknown>();
    await using edges = await startEdges({
      invoke: ({ call }) =>
        new Promise((_, reject) => {
          call.signal.addEventListener("abort", () => {
            aborted.resolve(call.signal.reason);
            reject(call.signal.reason);
          });
        }),
    });
    const connection = await openRaw(edges.port);
    await connection.send(head(20) + bodyOf(20));
    while (edges.invocations.length === 0) await new Promise((resolve) => setImmediate(resolve));
    if (how === "closes") connection.socket.destroy();
    else if (how === "resets") connection.socket.resetAndDestroy();
    else connection.socket.end();
    expect(await aborted.promise).toMatchObject({ reason: "client_closed_request" });
    if (how === "stops sending on") expect(parseResponse((await connection.ended).text).status).toBe(499);
  });

  test("a call that does not ask for the signal answers a client that sent all and stopped sending", async () => {
    const gate = Promise.withResolvers<object>();
    await using edges = await startEdges({ invoke: () => gate.promise });
    const connection = await openRaw(edges.port);
    await connection.send(head(20) + bodyOf(20));
    connection.socket.end();
    await once(connection.socket, "finish");
    gate.resolve(answered);
    expect(parseResponse((await connection.ended).text).status).toBe(200);
  });

  test("over HTTP/2 a reset stream aborts its call and no other", async () => {
    const reasons: unknown[] = [];
    const aborted = Promise.withResolvers<void>();
    await using edges = await startEdges({
      invoke: ({ call }) =>
        new Promise((resolve, reject) => {
          call.signal.addEventListener("abort", () => {
            reasons.push(call.signal.reason);
            reject(call.signal.reason);
            aborted.resolve();
          });
          if (call.userAgent === "stays") void aborted.promise.then(() => resolve(answered));
        }),
    });
    const session = connectHttp2(edges.url);
    const open = (agent: string) => {
      const stream = session.request({
        ":method": "POST",
        ":path": verify,
        authorization: "Bearer x",
        "content-type": "application/json",
        "user-agent": agent,
      });
      stream.on("error", () => undefined);
      stream.end(bodyOf(20));
      return stream;
    };
    const stays = open("stays");
    const leaves = open("leaves");
    while (edges.invocations.length < 2) await new Promise((resolve) => setImmediate(resolve));
    leaves.close(8);
    const [response] = await once(stays, "response");
    expect(response[":status"]).toBe(200);
    expect(reasons).toMatchObject([{ reason: "client_closed_request" }]);
    session.destroy();
  });
});
