import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runLatchkey, type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { withStoreOf } from "../../bench/harness/placed.ts";
import { type Edge, v2Edge } from "../../bench/harness/v2Edge.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { verifyAudit } from "../../src/features/audit/verifyAudit.ts";
import { dataOf } from "../support/api.ts";

const MINUTE = 60_000;
const preload = join(import.meta.dirname, "../support/skewedWallClock.mjs");

/** The embedded store has one node, whose clock is the store's. */
const server = process.env.MONGODB_URL;
describe.runIf(server !== undefined)("three nodes whose clocks are ten minutes apart in both directions", () => {
  const env = { MONGODB_URL: freshMongoUrl(server ?? "mongodb://unused/") };
  const skews = [10 * MINUTE, 0, -10 * MINUTE];
  let nodes: ServiceProcess[] = [];
  let edges: Edge[] = [];
  let rootKey = "";

  const skewed = (skew: number) => ({ ...env, NODE_OPTIONS: `--import ${preload}`, WALL_CLOCK_SKEW: String(skew) });
  const call = async (node: number, procedure: string, body: unknown): Promise<Record<string, unknown>> =>
    dataOf((await edges[node]?.call(procedure, body, rootKey)) ?? expect.unreachable(`there is no node ${node}`));
  const onAll = <T>(use: (node: number) => Promise<T>): Promise<T[]> => Promise.all(skews.map((_, node) => use(node)));
  const codes = (key: unknown) => onAll(async (node) => (await call(node, "keys.verifyKey", { key })).code);

  beforeAll(async () => {
    // The clock of the machine that makes the first root key may be wrong as well.
    rootKey = (await runLatchkey(["root-key", "create", "--name", "test"], skewed(10 * MINUTE))).stdout.trim();
    nodes = await Promise.all(skews.map((skew) => startService({ env: skewed(skew) })));
    edges = nodes.map(({ url }) => v2Edge(url));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    await dropMongoDatabase(env.MONGODB_URL);
  });

  test("each says how far it is off, in its log and its metrics", async () => {
    const seen = await onAll(async (node) => {
      const metrics = await (await fetch(`${nodes[node]?.adminUrl}/metrics`)).text();
      return Number(/^latchkey_clock_offset_seconds (\S+)$/m.exec(metrics)?.[1]);
    });
    for (const [node, skew] of skews.entries()) expect(Math.abs((seen[node] ?? Number.NaN) + skew / 1000)).toBeLessThan(1);
    const told = nodes.map(({ output }) => output.stderr.includes("this machine's clock differs from the store's"));
    expect(told).toEqual([true, false, true]);
  });

  test("[ratelimit §3] together they admit no more than one would", async () => {
    const [limit, duration] = [50, 1_000];
    const body = { namespace: "clocks", identifier: "user", limit, duration };
    const startedAt = performance.now();
    let admitted = 0;
    const windows = new Set<number>();
    await onAll(async (node) => {
      while (performance.now() - startedAt < 4 * duration) {
        const { success, reset } = await call(node, "ratelimit.limit", body);
        if (success) admitted++;
        windows.add(Math.floor(Number(reset) / duration));
        // Still several times what the limit lets through.
        await sleep(15);
      }
    });
    expect(admitted).toBeGreaterThanOrEqual(limit);
    // A window lets through its own limit at most; the first may still hold what came before it, which is nothing.
    expect(admitted).toBeLessThanOrEqual(limit * (windows.size + 1));
    expect(windows.size).toBeLessThanOrEqual((performance.now() - startedAt) / duration + 2);
  });

  test("[keys §5, verify §3] a key that expires does so for all of them, and one that is revoked is revoked for all", async () => {
    const { apiId } = await call(0, "apis.createApi", { name: "clocks" });
    const expires = Date.now() + 3_000;
    const { key } = await call(0, "keys.createKey", { apiId, expires });
    const before = await codes(key);
    if (Date.now() < expires) expect(before).toEqual(["VALID", "VALID", "VALID"]);
    await sleep(expires - Date.now() + 100);
    expect(await codes(key)).toEqual(["EXPIRED", "EXPIRED", "EXPIRED"]);

    for (const node of skews.keys()) {
      const revoked = await call(node, "keys.createKey", { apiId });
      expect(await codes(revoked.key)).toEqual(["VALID", "VALID", "VALID"]);
      await call(node, "keys.deleteKey", { keyId: revoked.keyId });
      await expect.poll(() => codes(revoked.key), { timeout: 9_000 }).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
    }
  });

  test("the audit log moves on when the one that is ahead is killed", async () => {
    // The mover holds the lease: the killed node may have held it, by its own clock for ten more minutes.
    const [ahead] = nodes.splice(0, 1);
    edges.splice(0, 1);
    skews.splice(0, 1);
    ahead?.kill("SIGKILL");
    await ahead?.exited;
    await call(0, "apis.createApi", { name: "afterwards" });
    await withStoreOf(env, async (store) => {
      const verdict = () => verifyAudit(createAuditLogRepository(store));
      await expect.poll(verdict, { timeout: 30_000 }).toMatchObject({ pending: 0, faults: [] });
    });
  });
});
