import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { createRootKeyOn } from "../../bench/harness/placed.ts";
import { createCertificate } from "../support/certificate.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlpReceiver.ts";
import { createPlacedCallers, linesOf, type PlacedCaller } from "./support/workerProcesses.ts";

interface Page {
  readonly status: number | undefined;
  readonly file: string | undefined;
  readonly text: string;
}

/** On a connection of its own. */
const ask = async (url: string, { method = "GET", token = "" } = {}): Promise<Page> => {
  const headers = token === "" ? {} : { authorization: `Bearer ${token}` };
  const asked = request(url, { method, headers, agent: false, rejectUnauthorized: false }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode, file: response.headers["content-disposition"], text };
};

/** The certificate that a new connection is shown. */
const certificateOf = async (url: string): Promise<string> => {
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
};

const TOKEN = "the-first-admin-token";

const server = process.env.MONGODB_URL;

describe.runIf(server !== undefined)("the admin port of two workers", () => {
  const store = { MONGODB_URL: freshMongoUrl(server ?? "mongodb://127.0.0.1/") };
  let directory: string;
  let receiver: OtlpReceiver;
  let rootKey: string;
  let service: ServiceProcess;
  let callers: readonly PlacedCaller[] = [];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-workers-"));
    receiver = await startOtlpReceiver();
    const { cert, key } = createCertificate(directory);
    await writeFile(join(directory, "token"), TOKEN);
    rootKey = await createRootKeyOn(store);
    const tls = { TLS_CERT: cert, TLS_KEY: key, ADMIN_TLS_CERT: cert, ADMIN_TLS_KEY: key };
    const admin = { ADMIN_TOKEN_FILE: join(directory, "token"), PROFILES: "on", SHUTDOWN_DELAY: "300" };
    const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: "always_on" };
    service = await startService({ env: { ...store, WORKERS: "2", LOG_LEVEL: "debug", ...tls, ...admin, ...tracing } });
    callers = await createPlacedCallers(service, rootKey, 4);
  });
  afterAll(async () => {
    for (const caller of callers) caller[Symbol.dispose]();
    // Undefined when it did not start.
    await (service as ServiceProcess | undefined)?.[Symbol.asyncDispose]();
    await receiver.close();
    await rm(directory, { recursive: true });
    await dropMongoDatabase(store.MONGODB_URL);
  });

  test("shows metrics of all processes with the token only, and probes to every caller", async () => {
    for (const path of ["/livez", "/readyz"]) expect((await ask(service.adminUrl + path)).status).toBe(200);
    expect((await ask(`${service.adminUrl}/metrics`)).status).toBe(401);
    const { status, text } = await ask(`${service.adminUrl}/metrics`, { token: TOKEN });
    expect(status).toBe(200);
    for (const port of ["service", "admin"]) {
      expect(text).toMatch(new RegExp(`^latchkey_tls_certificate_expiry_timestamp_seconds\\{port="${port}"\\} \\d+`, "m"));
      expect(text).toMatch(new RegExp(`^latchkey_file_reload_failed\\{files="${port}_tls",reason="malformed"\\} 0$`, "m"));
    }
  });

  test("records the requested worker, by default the first", async () => {
    const record = (query: string) => ask(`${service.adminUrl}/profiles/cpu?seconds=1${query}`, { method: "POST", token: TOKEN });
    for (const [query, worker] of [
      ["", 1],
      ["&worker=2", 2],
    ] as const) {
      const { status, file, text } = await record(query);
      expect([status, file]).toEqual([200, `attachment; filename="latchkey-worker-${worker}.cpuprofile"`]);
      expect(text).toContain("functionName");
      const taken = () => linesOf(service).filter(({ msg }) => msg === "profile taken");
      await expect.poll(taken).toContainEqual(expect.objectContaining({ worker, seconds: 1 }));
    }
    const { status, text } = await record("&worker=3");
    expect([status, text]).toEqual([400, "worker: want a whole number from 1 to 2\n"]);
  });

  test("each worker sends its own traces", async () => {
    expect(new Set(callers.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
    const made = await Promise.all(callers.map(({ call }) => call("apis.createApi", { name: "traced" })));
    const ids = made.map(({ requestId }) => requestId);
    await expect
      .poll(() => receiver.spans().map(({ attributes }) => attributes["latchkey.request_id"]))
      .toEqual(expect.arrayContaining(ids));
  });

  test("SIGHUP has all processes read their files again", async () => {
    const old = await certificateOf(service.url);
    createCertificate(directory);
    await writeFile(join(directory, "token"), "the-second-admin-token");
    service.kill("SIGHUP");
    const told = () => linesOf(service).filter(({ msg }) => msg === "TLS certificate reloaded");
    await expect.poll(() => told().map(({ worker }) => worker)).toEqual(expect.arrayContaining([1, 2]));
    // Two connections in a row go to different workers.
    const shown = [await certificateOf(service.url), await certificateOf(service.url)];
    expect(shown).toEqual([shown[0], shown[0]]);
    expect(shown[0]).not.toBe(old);
    await expect.poll(() => certificateOf(service.adminUrl)).toBe(shown[0]);
    await expect.poll(async () => (await ask(`${service.adminUrl}/metrics`, { token: "the-second-admin-token" })).status).toBe(200);
    expect((await ask(`${service.adminUrl}/metrics`, { token: TOKEN })).status).toBe(401);
  });

  test("a stopping service keeps serving while load balancers notice", async () => {
    service.kill("SIGTERM");
    await expect.poll(async () => (await ask(`${service.adminUrl}/readyz`)).status).toBe(503);
    expect((await ask(`${service.adminUrl}/livez`)).status).toBe(200);
    using late = (await createPlacedCallers(service, rootKey, 1))[0] as PlacedCaller;
    expect((await late.call("apis.createApi", { name: "late" })).isLast).toBe(false);
    for (const { call } of callers) expect((await call("apis.createApi", { name: "open" })).isLast).toBe(false);
    service.kill("SIGTERM");
    expect(await service.exited).toBe(1);
  });
});
