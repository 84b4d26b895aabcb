/**
 * `npm run rehearse`: what an operator may expect of three nodes behind nginx. Starts three nodes of the program as the image runs
 * it, MongoDB, nginx with `deploy/nginx/latchkey.conf` and Prometheus with `deploy/prometheus/alerts.yaml`, in which a minute lasts
 * six seconds. Under a steady load through the proxy, and from gRPC clients that have no proxy, it rolls the nodes one after the
 * other, kills one, and kills the store. Prints what each step cost, compares the store with what clients were answered, and exits
 * with 1 when a promise did not hold. Nothing of it is left behind, also after Ctrl-C.
 *
 * MONGODB_UP or MONGODB_URL: see `rehearsal/mongoServer.ts`. Without the first the store is not killed.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatTable } from "../src/platform/util/table.ts";
import { createRootKeyOn, withStoreOf } from "./harness/placed.ts";
import { v2Edge } from "./harness/v2Edge.ts";
import { checkForwarding, compareBooks, type Findings } from "./rehearsal/books.ts";
import { createConnectClient, createGrpcJsClient, createJsonClient, inTurns } from "./rehearsal/clients.ts";
import { openMongoServer } from "./rehearsal/mongoServer.ts";
import { rehearse } from "./rehearsal/rehearseSteps.ts";
import { startNginx } from "./rehearsal/startNginx.ts";
import { startNodes } from "./rehearsal/startNodes.ts";
import { startPrometheus } from "./rehearsal/startPrometheus.ts";
import { startLoad } from "./rehearsal/steadyLoad.ts";
import { brokenPromises, clientRows, stepRows } from "./rehearsal/steps.ts";
import { CREDITS, type Subjects } from "./rehearsal/work.ts";

/** Resources in use, the latest first to go. */
const inUse = new AsyncDisposableStack();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    console.error("Stopping …");
    void inUse.disposeAsync().finally(() => process.exit(130));
  });
}

const temporaryDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-rehearsal-"));
  inUse.defer(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

/** A certificate for the proxy that is its own authority. */
const createCertificate = (directory: string): string => {
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const files = ["-keyout", join(directory, "key.pem"), "-out", join(directory, "cert.pem")];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", [...kind, ...names, ...files], { stdio: "ignore" });
  return readFileSync(join(directory, "cert.pem"), "utf8");
};

/** As many as keep each other from waiting for the same document. */
const CHARGED_KEYS = 20;

const createSubjects = async (url: string, rootKey: string): Promise<Subjects> => {
  const edge = v2Edge(url);
  const call = async (procedure: string, body: object): Promise<Record<string, string>> => {
    const { body: answer } = await edge.call(procedure, body, rootKey);
    if (answer.error) throw new Error(`${procedure}: ${answer.error.detail}`);
    return answer.data as Record<string, string>;
  };
  const { apiId = "" } = await call("apis.createApi", { name: "rehearsal" });
  const { key = "" } = await call("keys.createKey", { apiId });
  const charged = [];
  for (let i = 0; i < CHARGED_KEYS; i++) charged.push(await call("keys.createKey", { apiId, credits: { remaining: CREDITS } }));
  await call("ratelimit.limit", { namespace: "rehearsal", identifier: "first", limit: 1, duration: 60_000 });
  return { apiId, key, charged: charged.map(({ key = "", keyId = "" }) => ({ key, keyId })) };
};

const tell = (text: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

const run = async (): Promise<readonly string[]> => {
  const startedAt = performance.now();
  const directory = temporaryDirectory();
  const ca = createCertificate(directory);
  tell("starting MongoDB, three nodes, nginx and Prometheus");
  const server = inUse.use(await openMongoServer());
  const rootKey = await createRootKeyOn({ MONGODB_URL: server.url });
  const { nodes } = inUse.use(await startNodes(server.url));
  const addresses = nodes.map(({ address }) => address);
  const nginx = inUse.use(await startNginx(directory, addresses));
  const prometheus = inUse.use(
    await startPrometheus(
      directory,
      nodes.map(({ adminAddress }) => adminAddress),
    ),
  );
  const urls = addresses.map((address) => `http://${address}`);
  const subjects = await createSubjects(urls[0] ?? "", rootKey);
  const proxied = { url: nginx.url, rootKey, ca };
  const clients = [
    createJsonClient(proxied),
    createConnectClient(proxied),
    inTurns(
      "grpc-js, no proxy",
      urls.map((url) => createGrpcJsClient({ url, rootKey })),
    ),
    inTurns(
      "connect-node, no proxy",
      urls.map((url) => createConnectClient({ url, rootKey })),
    ),
  ];
  inUse.defer(() => {
    for (const client of clients) client.close();
  });
  const load = startLoad(clients, subjects);
  inUse.defer(load.stop);
  const steps = await rehearse({ nodes, prometheus, server, onStep: tell });
  await load.stop();

  const forwarded = nginx.calls();
  const nodeOf = new Map(forwarded.map(({ id, nodes: tried }) => [id, tried.at(-1)]));
  for (const call of load.calls) call.node = nodeOf.get(call.id) ?? call.node;
  const findings: Findings[] = [
    await withStoreOf({ MONGODB_URL: server.url }, (store) => compareBooks(store, subjects, load.calls)),
    checkForwarding(forwarded),
  ];
  const print = (lines: readonly string[]): void => console.log(`${lines.join("\n")}\n`);
  print(formatTable(stepRows(steps, load.calls, prometheus.firings())));
  print(formatTable(clientRows(steps, load.calls)));
  print(findings.flatMap(({ lines }) => lines));
  if (server.kill === undefined) print(["The store was not killed: that needs MONGODB_UP, a command that starts one."]);
  console.log(`${Math.round((performance.now() - startedAt) / 1_000)} seconds in all.`);
  return [...brokenPromises(steps, load.calls), ...findings.flatMap(({ problems }) => problems)];
};

try {
  const broken = await run();
  for (const promise of broken) console.log(`BROKEN: ${promise}`);
  console.log(broken.length === 0 ? "Every promise held." : `${broken.length} promises were broken.`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
} finally {
  await inUse.disposeAsync();
}
process.exit();
