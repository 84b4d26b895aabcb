import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { createEngineProcess } from "../../src/features/analytics/embedded/engineProcess.ts";
import { EngineUnavailableError } from "../../src/features/analytics/engineErrors.ts";
import { dataOf } from "../support/api.ts";
import { request } from "../support/envelope.ts";

const directory = mkdtempSync(join(tmpdir(), "latchkey-engine-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Process ids of the children of a process. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

describe("the process of the engine", () => {
  test("starts on first use, and again after a death, whose cause is logged", async () => {
    const deaths: string[] = [];
    const engine = createEngineProcess({ directory, memory: 512 * 1024 ** 2, onDeath: (reason) => deaths.push(reason) });
    expect(engine.pid()).toBeUndefined();
    const [first, same] = await Promise.all([engine.running(), engine.running()]);
    expect(same).toBe(first);
    const pid = engine.pid() ?? 0;
    process.kill(pid, "SIGKILL");
    await expect.poll(() => deaths).toEqual(["SIGKILL"]);
    await expect.poll(() => engine.running().catch(() => undefined)).toBe(first);
    expect(engine.pid()).not.toBe(pid);
    expect(engine.generation()).toBe(2);
    const second = engine.pid() ?? 0;
    await engine.stop();
    expect(lives(second)).toBe(false);
    expect(deaths).toEqual(["SIGKILL"]);
    await expect(engine.running()).rejects.toThrow("stopped");
  });

  test("one that is stopped while it begins to start is not started", async () => {
    const engine = createEngineProcess({ directory, memory: 512 * 1024 ** 2 });
    const running = engine.running();
    await Promise.all([engine.stop(), expect(running).rejects.toThrow("stopped")]);
    expect(engine.generation()).toBe(0);
  });

  test("one that cannot start says why, and is tried again", async () => {
    const owner = createEngineProcess({ directory, memory: 512 * 1024 ** 2 });
    await owner.running();
    const deaths: string[] = [];
    const second = createEngineProcess({ directory, memory: 512 * 1024 ** 2, onDeath: (reason) => deaths.push(reason) });
    await expect(second.running()).rejects.toThrow(EngineUnavailableError);
    await expect.poll(() => deaths.join()).toMatch(/lock/i);
    await owner.stop();
    await expect.poll(() => second.running().catch(() => undefined)).toBeTruthy();
    await second.stop();
    const nowhere = createEngineProcess({ directory: join(import.meta.filename, "data"), memory: 512 * 1024 ** 2 });
    await expect(nowhere.running()).rejects.toThrow(EngineUnavailableError);
  });
});

describe("a service with the embedded engine", () => {
  test("loses no event that was written when the engine is killed under load, and no verification fails", async () => {
    await using service = await startService({ env: { ANALYTICS: "embedded" } });
    const rootKey = await service.rootKey();
    const call = async (procedure: string, body: object) => dataOf(await request(service.url, procedure, { rootKey, body }));
    const { apiId } = await call("apis.createApi", { name: "killed" });
    const { key } = await call("keys.createKey", { apiId });
    const count = async (): Promise<unknown> => {
      const query = "SELECT count(*) AS n FROM key_verifications_v1";
      const { body } = await request(service.url, "analytics.getVerifications", { rootKey, body: { query } });
      return (body.data as { n: number }[] | undefined)?.[0]?.n;
    };
    let verified = 0;
    const verify = async (): Promise<void> => {
      expect(await call("keys.verifyKey", { key })).toMatchObject({ code: "VALID" });
      verified++;
    };
    for (let i = 0; i < 100; i++) await verify();
    await expect.poll(count).toBe(100);
    for (let round = 0; round < 2; round++) {
      const [engine] = childrenOf(service.pid);
      process.kill(engine ?? 0, "SIGKILL");
      for (let i = 0; i < 100; i++) await verify();
      await expect.poll(count).toBe(verified);
    }
    const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/^latchkey_analytics_engine_deaths_total 2$/m);
    expect(metrics).not.toMatch(/result="dropped"\} (?!0$)/m);
    expect(service.output.stderr).toContain('"msg":"analytics engine ended"');
    expect(await service.stop()).toBe(0);
  });

  test("takes the engine with it, also when it is killed itself", async () => {
    await using service = await startService({ env: { ANALYTICS: "embedded" } });
    const rootKey = await service.rootKey();
    const body = { query: "SELECT count(*) AS n FROM key_verifications_v1" };
    expect((await request(service.url, "analytics.getVerifications", { rootKey, body })).body.data).toEqual([{ n: 0 }]);
    const [engine = 0] = childrenOf(service.pid);
    expect(lives(engine)).toBe(true);
    service.kill("SIGKILL");
    await expect.poll(() => lives(engine)).toBe(false);
  });

  test("starts no engine while none is needed", async () => {
    await using service = await startService({ env: { ANALYTICS: "embedded" } });
    expect(childrenOf(service.pid)).toEqual([]);
    expect(await service.stop()).toBe(0);
  });
});
