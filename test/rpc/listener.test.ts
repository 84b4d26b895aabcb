import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import { detectProtocol } from "../../src/platform/http/detectProtocol.ts";
import { createErrorBody } from "../../src/platform/http/errorBody.ts";
import { createListener } from "../../src/platform/http/listener.ts";
import { type Connection, createMalformedListener } from "../../src/platform/http/malformedListener.ts";
import { exchange, openRaw, parseResponse } from "./support/rawConnection.ts";
import { errorsBaseUrl, startEdges } from "./support/startEdges.ts";

const liveness = "GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\n";

/** A server for one listener of connections, and a connection to it. */
const serveConnections = async (accepted: (socket: Socket) => void) => {
  const server = createServer({ allowHalfOpen: true }, accepted);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return { port: address.port, [Symbol.dispose]: () => void server.close() };
};

describe("one port", () => {
  test("HTTP/1.1 and HTTP/2 with prior knowledge are served side by side, again and again on one connection", async () => {
    await using edges = await startEdges();
    const session = connectHttp2(edges.url);
    const connection = await openRaw(edges.port);
    for (let i = 1; i <= 3; i++) {
      const stream = session.request({ ":path": "/v2/liveness" });
      const [headers] = await once(stream, "response");
      expect(headers[":status"]).toBe(200);
      stream.resume();
      await connection.send(liveness);
      await connection.until(new RegExp(`(200 OK.*){${i}}\\}$`, "s"));
    }
    session.destroy();
    connection.socket.destroy();
  });

  test("the first bytes may come one by one", async () => {
    await using edges = await startEdges();
    const connection = await openRaw(edges.port);
    for (const byte of "POST /nowhere HTTP/1.1\r\nHost: x\r\n\r\n") {
      await connection.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(parseResponse(await connection.until(/\}$/)).status).toBe(404);
    connection.socket.destroy();
  });

  test("pipelined requests are answered in order", async () => {
    await using edges = await startEdges();
    const connection = await openRaw(edges.port);
    await connection.send(`${liveness}GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n${liveness}`);
    expect(await connection.until(/(200.*404.*200).*\}$/s)).toBeTruthy();
    connection.socket.destroy();
  });

  test("a free port is found and reported, a taken one is an error", async () => {
    await using edges = await startEdges();
    expect(edges.port).toBeGreaterThan(0);
    const taken = createListener({
      host: "127.0.0.1",
      port: edges.port,
      handler: () => undefined,
      errorsBaseUrl,
      clock: systemClock,
      onFault: () => undefined,
    });
    await expect(taken).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("a handler that throws ends its request and is reported", async () => {
    const faults: unknown[] = [];
    const listener = await createListener({
      host: "127.0.0.1",
      port: 0,
      handler: () => {
        throw new Error("defect");
      },
      errorsBaseUrl,
      clock: systemClock,
      onFault: (error) => faults.push(error),
    });
    expect((await exchange(listener.address.port, liveness)).text).toBe("");
    const session = connectHttp2(`http://127.0.0.1:${listener.address.port}`);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    await once(stream, "close");
    session.destroy();
    expect(faults).toMatchObject([{ message: "defect" }, { message: "defect" }]);
    await listener.stop(0);
  });
});

describe("[protocol §5] input that is no HTTP", () => {
  test.each([
    ["a bad request line", "HELLO\r\n\r\n"],
    ["a bad version", "GET / HTTP/9.9\r\nHost: x\r\n\r\n"],
    ["bad header syntax", "GET / HTTP/1.1\r\nHost x\r\n\r\n"],
    ["control characters in a header", "GET / HTTP/1.1\r\nHost: x\r\nA: b\u0000c\r\n\r\n"],
    ["too large a header", `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`],
    ["too long a request target", `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["two different lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    ["a length and chunks", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a negative length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"],
    ["a TLS handshake", Buffer.from("16030100c8010000c40303aabbccddeeff00112233445566778899", "hex")],
    ["zeros", Buffer.alloc(100)],
    ["half of the HTTP/2 preface", "PRJ * HTTP/2.0\r\n\r\n"],
  ])("%s is answered with a 400 envelope and ends that connection only", async (_, data) => {
    await using edges = await startEdges();
    const other = await openRaw(edges.port);
    await other.send(liveness);
    await other.until(/\}$/);
    const { text, error } = await exchange(edges.port, data);
    const response = parseResponse(text);
    expect([response.status, error]).toEqual([400, undefined]);
    expect(response.headers.get("connection")).toBe("close");
    expect(JSON.parse(response.body)).toMatchObject({
      meta: { requestId: expect.stringMatching(/^req_/) },
      error: { status: 400, type: expect.stringMatching(/\/errors\/unkey\/application\/invalid_input$/), errors: [{ location: "header" }] },
    });
    await other.send(liveness);
    await other.until(/(200 OK.*){2}\}$/s);
    other.socket.destroy();
    expect(edges.invocations).toEqual([]);
  });

  test.each([
    ["garbage after the preface", Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.alloc(64, 0xff)])],
    ["half of the preface, then garbage", Buffer.from("PRI * HTTP/2.0\r\nnonsense nonsense nonsense nonsense")],
    [
      "a frame that is too long",
      Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.from("ffffff0000000000ff", "hex")]),
    ],
    ["nothing after four bytes", Buffer.from("PRI ")],
  ])("HTTP/2 with %s ends that connection only", async (_, data) => {
    await using edges = await startEdges();
    const connection = await openRaw(edges.port);
    await connection.send(data);
    connection.socket.end();
    await connection.ended;
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
  });

  test("HTTP/2 streams that are opened and reset in the first bytes do not keep their connection", async () => {
    await using edges = await startEdges();
    const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
      const head = Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream]);
      return Buffer.concat([head, payload]);
    };
    const literal = (...fields: string[]) =>
      Buffer.concat([Buffer.from([0]), ...fields.flatMap((text) => [Buffer.from([text.length]), Buffer.from(text)])]);
    const fields = [literal(":method", "POST"), literal(":scheme", "http"), literal(":authority", "x"), literal(":path", "/x")];
    const [settings, headers, reset, goaway] = [4, 1, 3, 7];
    const connection = await openRaw(edges.port);
    await connection.send(
      Buffer.concat([
        Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        frame(settings, 0, 0, Buffer.alloc(0)),
        frame(headers, 4, 1, Buffer.concat(fields)),
        frame(reset, 0, 1, Buffer.alloc(4)),
        frame(goaway, 0, 0, Buffer.alloc(8)),
      ]),
    );
    connection.socket.end();
    await connection.ended;
  });

  test("over HTTP/2 too large a header list resets its stream, nothing else", async () => {
    await using edges = await startEdges();
    const session = connectHttp2(edges.url);
    await once(session, "remoteSettings");
    // The limit holds once both sides know of it.
    await new Promise((resolve) => session.ping(resolve));
    const stream = session.request({ ":path": "/v2/liveness", a: "a".repeat(20_000) });
    stream.on("error", () => undefined);
    await new Promise((resolve) => stream.on("close", resolve));
    expect(stream.rstCode).not.toBe(0);
    const next = session.request({ ":path": "/v2/liveness" });
    expect((await once(next, "response"))[0][":status"]).toBe(200);
    session.destroy();
  });

  test("connections that vanish at any point leave the service unharmed", async () => {
    await using edges = await startEdges();
    for (const data of [
      "",
      "P",
      "PRI",
      "PRI * HTTP/2.0\r\n\r\nSM",
      "GET /v2",
      `${liveness}GET /`,
      "POST /v2/keys.verifyKey HTTP/1.1\r\n",
    ]) {
      const reset = await openRaw(edges.port);
      await reset.send(data);
      reset.socket.resetAndDestroy();
      const closed = await openRaw(edges.port);
      await closed.send(data);
      closed.socket.end();
      await closed.ended;
    }
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
  });

  test("CONNECT is refused, an upgrade is not taken", async () => {
    await using edges = await startEdges();
    await exchange(edges.port, "CONNECT example.org:80 HTTP/1.1\r\nHost: example.org\r\n\r\n");
    const upgrade =
      "GET /v2/liveness HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n";
    expect(parseResponse((await exchange(edges.port, upgrade)).text).status).toBe(200);
  });

  test("garbage behind a request that runs lets it finish", async () => {
    const gate = Promise.withResolvers<object>();
    await using edges = await startEdges({ invoke: () => gate.promise });
    const connection = await openRaw(edges.port);
    const body = '{"key":"sk_1"}';
    const head = "POST /v2/keys.verifyKey HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n";
    await connection.send(`${head}Content-Length: ${body.length}\r\n\r\n${body}GARBAGE\r\n\r\nGARBAGE`);
    while (edges.invocations.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await connection.send("more garbage\r\n\r\n");
    gate.resolve({ data: { valid: true, code: 1 } });
    const { text } = await connection.ended;
    expect(parseResponse(text)).toMatchObject({ status: 200 });
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

describe("[protocol §9] clients that are slow", () => {
  test("a connection that stays silent is dropped without a word", async () => {
    using server = await serveConnections((socket) => detectProtocol(socket, 20, () => undefined));
    const silent = await openRaw(server.port);
    expect((await silent.ended).text).toBe("");
    const started = await openRaw(server.port);
    await started.send("PR");
    expect((await started.ended).text).toBe("");
  });

  test("a request that is not complete in time is 408 request_timeout", async () => {
    const malformed = createMalformedListener(createErrorBody(errorsBaseUrl), () => "req_1");
    using server = await serveConnections((socket: Connection) => {
      socket.established = true;
      malformed(Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
    });
    const { text } = await exchange(server.port, "");
    const response = parseResponse(text);
    expect(response.status).toBe(408);
    expect(JSON.parse(response.body).error).toMatchObject({ title: "Request Timeout", status: 408, errors: [] });
  });
});
