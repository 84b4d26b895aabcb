import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { type CertificateFiles, createCertificate } from "../support/certificate.ts";

let directory: string;
let files: CertificateFiles;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-tls-"));
  files = createCertificate(directory);
});
afterEach(() => rm(directory, { recursive: true }));

const start = (): Promise<ServiceProcess> => startService({ env: { TLS_CERT: files.cert, TLS_KEY: files.key } });

/** Fingerprint of the certificate that a new connection is shown. */
const fingerprint = async (url: string): Promise<string> => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
};

/** GET /v2/liveness on a connection that stays open; `socket` tells which one it was. */
const overHttp1 = async (url: string, agent: Agent): Promise<{ status: number | undefined; socket: TLSSocket }> => {
  const call = request(`${url}/v2/liveness`, { agent }).end();
  const [response] = (await once(call, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return { status: response.statusCode, socket: call.socket as TLSSocket };
};

test("with a certificate the port speaks HTTP/1.1 and HTTP/2 over TLS, trusted by its file", async () => {
  await using service = await start();
  expect(service.url).toMatch(/^https:/);
  const ca = await readFile(files.cert);
  const agent = new Agent({ ca });
  expect((await overHttp1(service.url, agent)).status).toBe(200);
  agent.destroy();
  const session = connectHttp2(service.url, { ca });
  const [headers] = await once(session.request({ ":path": "/v2/liveness" }), "response");
  expect(headers[":status"]).toBe(200);
  session.destroy();
});

test("after SIGHUP new connections get the renewed certificate, and open ones stay", async () => {
  await using service = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const before = await overHttp1(service.url, agent);
  const session = connectHttp2(service.url, { rejectUnauthorized: false });
  await once(session, "connect");
  const old = await fingerprint(service.url);

  createCertificate(directory);
  service.kill("SIGHUP");
  await expect.poll(() => fingerprint(service.url)).not.toBe(old);

  const after = await overHttp1(service.url, agent);
  expect(after.status).toBe(200);
  expect(after.socket).toBe(before.socket);
  const [headers] = await once(session.request({ ":path": "/v2/liveness" }), "response");
  expect(headers[":status"]).toBe(200);
  agent.destroy();
  session.destroy();
});

test("an invalid renewed certificate is logged and the old one stays; a valid one is used without a signal", async () => {
  await using service = await start();
  const old = await fingerprint(service.url);
  await writeFile(files.cert, "not a certificate");
  service.kill("SIGHUP");
  await expect.poll(() => service.output.stderr).toContain("TLS certificate not reloaded");
  expect(await fingerprint(service.url)).toBe(old);
  createCertificate(directory);
  await expect.poll(() => fingerprint(service.url), { timeout: 60_000, interval: 500 }).not.toBe(old);
});

test("a certificate that cannot be used ends the start with 1, and doctor says why", async () => {
  await writeFile(files.key, "not a key");
  const env = { DATA_DIR: directory, TLS_CERT: files.cert, TLS_KEY: files.key, PORT: "0", ADMIN_PORT: "0" };
  const served = await runLatchkeyHere(["serve"], env);
  expect([served.code, served.stderr]).toEqual([1, expect.stringContaining(`TLS_KEY: "${files.key}" is not a PEM file of a private key`)]);
  const { code, stdout } = await runLatchkeyHere(["doctor"], env);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAIL {2}TLS: /m);
});
