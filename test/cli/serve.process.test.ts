// @same-on-every-engine
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runLatchkeyHere, serveHere } from "../../bench/harness/commandLine.ts";
import { type RunningService, runLatchkey, type ServiceProcess, spawnLatchkey, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { freshDirectory } from "../support/storePlaces.ts";

const createApi = (service: RunningService, rootKey: string): Promise<Response> =>
  fetch(`${service.url}/v2/apis.createApi`, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: '{"name":"payments"}',
  });

describe("a service that runs, whose log is at its most talkative", () => {
  let service: ServiceProcess;
  beforeAll(async () => {
    const env = { LOG_LEVEL: "trace", MONGODB_URI: "mongodb://user:pass@host/", LATCHKEY_PORT: "1" };
    service = await startService({ env });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test("the first start writes a root key for its owner only and prints a curl that works as it is", async () => {
    const file = join(service.dataDir, "root-key");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const curl = service.output.stdout.split("\n").find((line) => line.startsWith("curl ")) ?? "";
    const { stdout } = await promisify(execFile)("sh", ["-c", curl], { cwd: "/" });
    expect(JSON.parse(stdout)).toMatchObject({ data: { apiId: expect.stringMatching(/^api_/) } });
  });

  test("[protocol §7] a running service applies root keys that the command line makes and revokes", async () => {
    const env = { DATA_DIR: service.dataDir };
    const { stdout, stderr } = await runLatchkeyHere(["root-key", "create", "--name", "beside"], env);
    const rootKey = stdout.trim().split("\n").at(-1) ?? "";
    expect((await createApi(service, rootKey)).status).toBe(200);
    expect((await runLatchkeyHere(["root-key", "revoke", /rk_\w+/.exec(stderr)?.[0] ?? "", "--yes"], env)).code).toBe(0);
    await expect.poll(async () => (await createApi(service, rootKey)).status, { timeout: 30_000, interval: 100 }).toBe(401);
  });

  test("SIGHUP without TLS changes nothing", async () => {
    service.kill("SIGHUP");
    expect((await createApi(service, await service.rootKey())).status).toBe(200);
  });

  test("liveness, readiness and metrics are on the admin port", async () => {
    const rootKey = await service.rootKey();
    expect((await createApi(service, rootKey)).status).toBe(200);
    for (const path of ["/livez", "/readyz"]) expect((await fetch(service.adminUrl + path)).status).toBe(200);
    const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/^latchkey_procedure_duration_seconds_count\{procedure="apis.createApi",outcome="ok"\} [1-9]/m);
    expect(metrics).toContain('latchkey_store_up{engine="embedded"} 1');
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
  });

  test("variables that look like settings and are none are named in the log, without their values", async () => {
    expect(service.output.stderr).toContain(
      '"problems":["LATCHKEY_PORT is no setting: did you mean PORT?","MONGODB_URI is no setting: did you mean MONGODB_URL?"],"msg":"unknown settings"',
    );
    expect(service.output.stderr).not.toContain("pass");
  });

  test("a second service on the same directory ends with 1 and says why", async () => {
    const { code, stderr } = await runLatchkeyHere(["serve"], { DATA_DIR: service.dataDir, PORT: "0", ADMIN_PORT: "0" });
    expect(code).toBe(1);
    expect(stderr).toContain(`another server uses the data directory ${service.dataDir}`);
  });

  test("the root key was written to its file only, also when all has ended", async () => {
    const rootKey = await service.rootKey();
    expect((await createApi(service, rootKey)).status).toBe(200);
    expect(await service.stop()).toBe(0);
    expect(service.output.stdout + service.output.stderr).not.toContain(rootKey.slice(0, 12));
  });
});

test("later starts make no root key, also when the first one and its file are gone", async () => {
  const dataDir = await freshDirectory();
  await using first = await serveHere(dataDir);
  const rootKey = await first.rootKey();
  expect((await createApi(first, rootKey)).status).toBe(200);
  expect(await first.stop()).toBe(0);

  await using second = await serveHere(dataDir);
  expect(second.output.stdout).not.toContain("curl");
  expect((await createApi(second, rootKey)).status).toBe(200);
  const { stdout } = await runLatchkeyHere(["root-key", "list"], { DATA_DIR: dataDir });
  expect((await runLatchkeyHere(["root-key", "revoke", /rk_\w+/.exec(stdout)?.[0] ?? "", "--yes"], { DATA_DIR: dataDir })).code).toBe(0);
  expect(await second.stop()).toBe(0);
  await rm(join(dataDir, "root-key"));

  await using third = await serveHere(dataDir);
  expect(third.output.stdout).not.toContain("curl");
  expect(await readdir(dataDir)).not.toContain("root-key");
});

test("the curl line is printed again until its root key was used, also after a first start that failed", async () => {
  const dataDir = await freshDirectory();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  onTestFinished(() => {
    taken.close();
  });
  const port = String((taken.address() as AddressInfo).port);
  expect((await runLatchkeyHere(["serve"], { DATA_DIR: dataDir, PORT: port, ADMIN_PORT: "0" })).code).toBe(1);

  await using second = await serveHere(dataDir);
  const curl = second.output.stdout.split("\n").find((line) => line.startsWith("curl ")) ?? "";
  const { stdout } = await promisify(execFile)("sh", ["-c", curl], { cwd: "/" });
  expect(JSON.parse(stdout)).toMatchObject({ data: { apiId: expect.stringMatching(/^api_/) } });
  expect(await second.stop()).toBe(0);

  await using third = await serveHere(dataDir);
  expect(third.output.stdout).not.toContain("curl");
});

test("a first root key that cannot be written to its file is not made; the error names the file, and the next start makes one", async () => {
  const dataDir = await freshDirectory();
  const file = join(dataDir, "root-key");
  await mkdir(join(file, "in the way"), { recursive: true });
  const { code, stderr } = await runLatchkeyHere(["serve"], { DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0" });
  expect(code).toBe(1);
  expect(stderr).toContain(`the first root key cannot be written to ${file}, so none was made`);
  expect((await runLatchkeyHere(["root-key", "list"], { DATA_DIR: dataDir })).stdout).not.toContain("rk_");
  await rm(file, { recursive: true });

  await using service = await serveHere(dataDir);
  expect((await createApi(service, await service.rootKey())).status).toBe(200);
});

test("a wrong configuration lists every problem, ends with 2 and starts nothing", async () => {
  const dataDir = await freshDirectory();
  const { code, stdout, stderr } = await runLatchkey(["serve"], {
    DATA_DIR: dataDir,
    PORT: "http",
    TLS_KEY: "key.pem",
    RATELIMIT_STORE_DOWN: "no",
  });
  expect(code).toBe(2);
  expect(stdout).toBe("");
  for (const name of ["PORT:", "TLS_CERT and TLS_KEY:", "RATELIMIT_STORE_DOWN:"]) expect(stderr).toContain(`  ${name}`);
  expect(await readdir(dataDir)).toEqual([]);
});

test.each(["SIGTERM", "SIGINT"] as const)("%s ends the process with 0", async (signal) => {
  await using service = await startService();
  service.kill(signal);
  expect(await service.exited).toBe(0);
  expect(service.output.stderr).toContain('"msg":"service stopped"');
});

test("[protocol §9] a request that comes just after SIGTERM is answered, as the last on its connection", async () => {
  await using service = await startService();
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  const ask = async (): Promise<string> => {
    socket.write("GET /v2/liveness HTTP/1.1\r\nhost: x\r\n\r\n");
    return String((await once(socket, "data"))[0]);
  };
  expect(await ask()).toContain("Connection: keep-alive");
  service.kill("SIGTERM");
  let answer = "";
  while (!answer.includes("Connection: close")) {
    answer = await ask();
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  }
  expect(await service.exited).toBe(0);
});

test("a second signal ends a stop that waits for a call at once, with 1", async () => {
  await using service = await startService();
  const rootKey = await service.rootKey();
  // A request whose body never ends keeps the stop waiting; that it is asked to send one says that the service has its head.
  const { port } = new URL(service.url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(
    `POST /v2/apis.createApi HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${rootKey}\r\ncontent-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n`,
  );
  const [asked] = await once(socket, "data");
  expect(String(asked)).toMatch(/^HTTP\/1\.1 100 /);
  socket.write("{");
  service.kill("SIGTERM");
  await expect.poll(() => service.output.stderr).toContain('"msg":"service stopping"');
  service.kill("SIGTERM");
  expect(await service.exited).toBe(1);
  socket.destroy();
});

test.each(["PORT", "ADMIN_PORT"])("a port that is taken ends the start with 1 and names its setting: %s", async (setting) => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  onTestFinished(() => {
    taken.close();
  });
  const { code, stderr } = await runLatchkeyHere(["serve"], {
    DATA_DIR: await freshDirectory(),
    PORT: "0",
    ADMIN_PORT: "0",
    [setting]: String((taken.address() as AddressInfo).port),
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`another process listens there already \\(\\w+, ${setting}\\): .*EADDRINUSE`));
  // Exactly one reason: no line about a store that was never reached or is fine.
  expect(
    stderr
      .trim()
      .split("\n")
      .filter((line) => !line.includes('"msg":"first root key created"')),
  ).toHaveLength(1);
});

test("a DATA_DIR that is a file ends the start with one line that names it", async () => {
  const file = join(await freshDirectory(), "file");
  await writeFile(file, "");
  const { code, stderr } = await runLatchkeyHere(["serve"], { DATA_DIR: file, PORT: "0", ADMIN_PORT: "0" });
  expect(code).toBe(1);
  expect(stderr.trim().split("\n")).toEqual([expect.stringContaining(`DATA_DIR: ${file} is not a directory`)]);
});

test("a MongoDB server that cannot be reached is said once, with the cause", async () => {
  const child = spawnLatchkey(["serve"], { MONGODB_URL: "mongodb://127.0.0.1:1/", PORT: "0", ADMIN_PORT: "0" });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let text = "";
  child.stdout?.resume();
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await expect.poll(() => text).toContain('"msg":"store away"');
  // Long enough for another attempt, and another.
  await sleep(7_000);
  expect(text.trim().split("\n")).toEqual([expect.stringContaining("ECONNREFUSED 127.0.0.1:1")]);
  child.kill("SIGTERM");
  expect(await once(child, "close")).toEqual([0, null]);
});

test("messages of the store engine are in the service's log", async () => {
  await using service = await serveHere(await freshDirectory());
  const rootKey = await service.rootKey();
  const other = new DatabaseSync(join(service.dataDir, "latchkey.sqlite"));
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  expect((await createApi(service, rootKey)).status).toBe(503);
  other.exec("ROLLBACK");
  await expect.poll(() => service.output.stderr).toContain('"msg":"the embedded store could not commit"');
});

const server = process.env.MONGODB_URL;
if (server !== undefined) {
  test("with MongoDB no root key is made, and the start says how to make one", async () => {
    const env = { MONGODB_URL: freshMongoUrl(server) };
    onTestFinished(() => dropMongoDatabase(env.MONGODB_URL));
    await using service = await startService({ env });
    expect(service.output.stdout).toContain("latchkey root-key create --name admin");
    expect(await readdir(service.dataDir)).toEqual([]);
    const { stdout } = await runLatchkey(["root-key", "create", "--name", "admin"], env);
    expect((await createApi(service, stdout.trim())).status).toBe(200);
  });
}
