// @same-on-every-engine
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { runLatchkeyHere, serveHere } from "../../../bench/harness/commandLine.ts";
import { type RunningService, startService } from "../../../bench/harness/latchkeyProcess.ts";
import { withStoreOf } from "../../../bench/harness/placed.ts";
import { v2Edge } from "../../../bench/harness/v2Edge.ts";
import { createAuditLogRepository } from "../../../src/features/audit/auditLogRepository.ts";
import { verifyAudit } from "../../../src/features/audit/verifyAudit.ts";
import { dataOf } from "../../support/api.ts";
import { request } from "../../support/envelope.ts";
import { freshDirectory } from "../../support/storePlaces.ts";

const args = ["--test-clock"];
const FUTURE = Date.UTC(2099, 0, 1, 12);
const PAST = Date.UTC(1990, 0, 1, 12);

const call = async (service: RunningService, procedure: string, body: object): Promise<Record<string, unknown>> =>
  dataOf(await v2Edge(service.url).call(procedure, body, await service.rootKey()));
const setTime = async (service: RunningService, time: number): Promise<void> => {
  dataOf(await request(service.url, "testing.setTime", { rootKey: await service.rootKey(), body: { time } }));
};
const expectAudited = (dataDir: string): Promise<void> =>
  withStoreOf({ DATA_DIR: dataDir }, async (store) => {
    const verdict = () => verifyAudit(createAuditLogRepository(store));
    await expect.poll(verdict).toMatchObject({ entries: expect.toSatisfy((count: number) => count > 0), pending: 0, faults: [] });
  });

test("serve --test-clock is refused with 2 unless the embedded store is used, and opens nothing", async () => {
  const dataDir = await freshDirectory();
  const env = { DATA_DIR: dataDir, MONGODB_URL: "mongodb://127.0.0.1:1/never", PORT: "0", ADMIN_PORT: "0" };
  const { code, stdout, stderr } = await runLatchkeyHere(["serve", ...args], env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("--test-clock is only for the embedded store");
  expect(await readdir(dataDir)).toEqual([]);
});

test("a service with a test clock says so in its log, one without has no testing.setTime", async () => {
  await using turned = await serveHere(await freshDirectory(), { args });
  expect(turned.output.stderr).toMatch(/"level":"warn".*test clock in use/);
  await setTime(turned, FUTURE);
  expect(await turned.stop()).toBe(0);
  await using plain = await serveHere(await freshDirectory());
  expect(plain.output.stderr).not.toContain("test clock");
  const { status } = await request(plain.url, "testing.setTime", { rootKey: await plain.rootKey(), body: { time: FUTURE } });
  expect(status).toBe(404);
});

test("changes by the command line are applied, whatever the clock says", async () => {
  await using service = await serveHere(await freshDirectory(), { args });
  const env = { DATA_DIR: service.dataDir };
  for (const time of [FUTURE, PAST, 0]) {
    await setTime(service, time);
    const { stdout, stderr } = await runLatchkeyHere(["root-key", "create", "--name", "beside"], env);
    const rootKey = stdout.trim();
    const status = async (): Promise<number> => (await v2Edge(service.url).call("apis.createApi", { name: "heard" }, rootKey)).status;
    expect(await status()).toBe(200);
    expect((await runLatchkeyHere(["root-key", "revoke", /rk_\w+/.exec(stderr)?.[0] ?? "", "--yes"], env)).code).toBe(0);
    await expect.poll(status, { timeout: 30_000, interval: 100 }).toBe(401);
  }
});

test("a clock that was far ahead when the process was killed holds up no later one", async () => {
  const dataDir = await freshDirectory();
  await using first = await startService({ args, dataDir });
  const rootKey = await first.rootKey();
  await setTime(first, FUTURE);
  const { apiId } = await call(first, "apis.createApi", { name: "future" });
  const { key } = await call(first, "keys.createKey", { apiId });
  await expectAudited(dataDir);
  first.kill("SIGKILL");
  await first.exited;

  await using second = await serveHere(dataDir);
  expect(await second.rootKey()).toBe(rootKey);
  expect(await call(second, "keys.verifyKey", { key })).toMatchObject({ valid: true });
  const { apiId: later } = await call(second, "apis.createApi", { name: "present" });
  expect(later).toMatch(/^api_/);
  await expectAudited(dataDir);
  const { createdAt } = await call(second, "keys.getKey", {
    keyId: (await call(second, "keys.createKey", { apiId: later })).keyId as string,
  });
  expect(createdAt).toBeLessThan(FUTURE);
});
