import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { readTlsMaterial } from "../../src/platform/http/tls/tlsMaterial.ts";
import { eventually } from "../support/eventually.ts";
import { createCertificateFiles } from "./support/createCertificate.ts";
import { exchange } from "./support/rawConnection.ts";
import { type Edges, startEdges } from "./support/startEdges.ts";

const first = createCertificateFiles("first");
const second = createCertificateFiles("second");
const start = async (): Promise<Edges> => startEdges({ tls: await readTlsMaterial(first) });

const open = async (port: number, options: ConnectionOptions = {}): Promise<TLSSocket> => {
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  await once(socket, "secureConnect");
  return socket;
};

const nameOf = (socket: TLSSocket): unknown => socket.getPeerCertificate().subject.CN;

const getLiveness = async (socket: TLSSocket): Promise<string> => {
  socket.write("GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\n");
  const [data] = await once(socket, "data");
  return String(data);
};

test("with TLS the ALPN decides, and no ALPN is HTTP/1.1", async () => {
  await using edges = await start();
  const session = connectHttp2(edges.url, { rejectUnauthorized: false });
  const stream = session.request({ ":path": "/v2/liveness" });
  expect((await once(stream, "response"))[0][":status"]).toBe(200);
  expect(session.alpnProtocol).toBe("h2");
  session.destroy();
  const agent = new Agent({ rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
  const [response] = await once(httpsRequest(`${edges.url}/v2/liveness`, { agent }).end(), "response");
  expect([response.statusCode, response.httpVersion]).toEqual([200, "1.1"]);
  agent.destroy();
  const plain = await open(edges.port);
  expect(await getLiveness(plain)).toContain("200 OK");
  plain.destroy();
});

test("a new certificate is used for new connections, and existing ones stay", async () => {
  await using edges = await start();
  const before = await open(edges.port);
  expect([nameOf(before), (await getLiveness(before)).includes("200 OK")]).toEqual(["first", true]);
  edges.listener.setTls(await readTlsMaterial(second));
  const after = await open(edges.port);
  expect(nameOf(after)).toBe("second");
  expect(await getLiveness(before)).toContain("200 OK");
  before.destroy();
  after.destroy();
});

test("a certificate that cannot be used is an error that names the files, and the old one stays", async () => {
  await using edges = await start();
  const broken = createCertificateFiles("broken");
  writeFileSync(broken.certFile, "not a certificate");
  await expect(readTlsMaterial(broken)).rejects.toThrow(broken.certFile);
  await expect(readTlsMaterial({ certFile: first.certFile, keyFile: second.keyFile })).rejects.toThrow(second.keyFile);
  await expect(readTlsMaterial({ ...first, keyFile: "/nowhere/tls.key" })).rejects.toThrow("/nowhere/tls.key");
  const mixed = { cert: (await readTlsMaterial(first)).cert, key: (await readTlsMaterial(second)).key };
  expect(() => edges.listener.setTls(mixed)).toThrow();
  const socket = await open(edges.port);
  expect([nameOf(socket), (await getLiveness(socket)).includes("200 OK")]).toEqual(["first", true]);
  socket.destroy();
});

test("without TLS there is no certificate to set", async () => {
  await using edges = await startEdges();
  const certificate = await readTlsMaterial(first);
  expect(() => edges.listener.setTls(certificate)).toThrow("does not speak TLS");
});

test("cleartext, garbage and broken handshakes on a TLS port end their own connection", async () => {
  await using edges = await start();
  for (const data of [
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    Buffer.alloc(300, 0x41),
    Buffer.from("16030100c801", "hex"),
  ]) {
    const exchanged = exchange(edges.port, data);
    if (data.length > 10) expect((await exchanged).text).not.toContain("HTTP/1.1 200");
  }
  const old = connectTls({ port: edges.port, host: "127.0.0.1", rejectUnauthorized: false, maxVersion: "TLSv1.1", minVersion: "TLSv1" });
  await expect(once(old, "secureConnect")).rejects.toThrow();
  const socket = await open(edges.port);
  expect(await getLiveness(socket)).toContain("200 OK");
  socket.write("NONSENSE\r\n\r\n");
  expect(String((await once(socket, "data"))[0])).toContain("400 Bad Request");
  socket.destroy();
});

test("[protocol §9] a call that comes while a large answer is on its way over TLS is answered, whatever pieces it comes in", async () => {
  const apiId = "a".repeat(8_000_000);
  await using edges = await startEdges({ tls: await readTlsMaterial(first), invoke: async () => ({ data: { apiId } }) });
  const wire = connect({ port: edges.port, host: "127.0.0.1" });
  // Not the socket itself, which TLS would write to without its buffer.
  const pipe = new Duplex({
    read: () => undefined,
    write: (chunk, _, done) => {
      wire.write(chunk);
      done();
    },
  });
  wire.on("data", (chunk: Buffer) => pipe.push(chunk));
  const socket = await open(edges.port, { socket: pipe });
  const body = JSON.stringify({ name: "large" });
  const head = `POST /v2/apis.createApi HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  wire.pause();
  socket.write(head + body);
  await eventually(() => expect(edges.invocations).toHaveLength(1));
  // Two records in one packet: the second one is decrypted in the turn of the first.
  wire.cork();
  for (const record of [head, body]) await new Promise((resolve) => socket.write(record, resolve));
  wire.uncork();
  let received = "";
  socket.setEncoding("latin1").on("data", (piece: string) => {
    received += piece;
  });
  wire.resume();
  await eventually(() => expect(received.length).toBeGreaterThan(2 * apiId.length));
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
  socket.destroy();
  wire.destroy();
});

test("[protocol §9] stopping ends TLS connections too", async () => {
  await using edges = await start();
  const idle = await open(edges.port);
  await getLiveness(idle);
  const session = connectHttp2(edges.url, { rejectUnauthorized: false });
  await once(session, "remoteSettings");
  const goaway = once(session, "goaway");
  const closed = once(idle, "close");
  idle.resume();
  await edges.listener.stop();
  await Promise.all([closed, goaway]);
});
