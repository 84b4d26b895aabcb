import { afterAll, beforeAll, expect, test } from "vitest";
import { type CounterCluster, type SentinelTrio, startCounterCluster, startSentinelTrio } from "../../../bench/harness/counterServers.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import type { ChargeRequest } from "../../../src/platform/storage/counters/sharedCounter.ts";
import { type GuardedCounters, guardCounters } from "../../../src/platform/storage/decorators/guardCounters.ts";
import type { CounterServer } from "../../../src/platform/storage/port/counterServer.ts";
import type { Counters } from "../../../src/platform/storage/port/counters.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { connectCounterServer, describeOnCounterServer } from "../../support/counterServers.ts";
import { eventually } from "../../support/eventually.ts";

const request: ChargeRequest = {
  ...{ duration: 3_600_000, limit: 1_000_000, cost: 1, need: 1, chunk: 0, now: 0, held: 0, heldSeq: -1, known: undefined },
};

/** Charges one until that works. */
const charge = (counters: Counters, key: string): Promise<number> =>
  eventually(async () => (await counters.charge(key, request)).counter.current);

describeOnCounterServer("a server that Sentinels watch", () => {
  let trio: SentinelTrio;
  let server: CounterServer;
  let guarded: GuardedCounters;
  beforeAll(async () => {
    trio = await startSentinelTrio();
    server = await connectCounterServer(trio.url);
    guarded = guardCounters(server.counters, server, { clock: systemClock });
  });
  afterAll(async () => {
    guarded?.close();
    await server?.close();
    await trio?.[Symbol.asyncDispose]();
  });

  test("counts go on at the replica that becomes the primary, and nothing is charged at the one that no longer is", async () => {
    expect(await charge(guarded.counters, "a")).toBe(1);
    await eventually(async () => expect(await trio.replica.command("GET", "latchkey:{a}")).toContain(":1:0"));
    await trio.failOver();
    // Until it hears of it the old primary counts what is forgotten then.
    await eventually(async () => expect(await trio.primary.command("ROLE")).toContain("slave"));
    expect(await charge(guarded.counters, "a")).toBe(2);
    expect(await trio.replica.command("GET", "latchkey:{a}")).toContain(":2:0");
  });

  test("the server that is killed is replaced by the other one", async () => {
    const before = await charge(guarded.counters, "b");
    const [now, other] = (await trio.primaryPort()) === trio.primary.port ? [trio.primary, trio.replica] : [trio.replica, trio.primary];
    await eventually(async () => expect(await other.command("GET", "latchkey:{b}")).toContain(`:${before}:0`));
    await now.end();
    expect(await charge(guarded.counters, "b")).toBe(before + 1);
    expect(await other.command("GET", "latchkey:{b}")).toContain(`:${before + 1}:0`);
  });
});

describeOnCounterServer("a cluster", () => {
  let cluster: CounterCluster;
  let server: CounterServer;
  let guarded: GuardedCounters;
  const keys = Array.from({ length: 30 }, (_, i) => `namespace:rlns_1:3600000:user_${i}`);
  beforeAll(async () => {
    cluster = await startCounterCluster();
    server = await connectCounterServer(cluster.url);
    guarded = guardCounters(server.counters, server, { clock: systemClock });
  });
  afterAll(async () => {
    guarded?.close();
    await server?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  test("each counter is on one of its servers, and a scan finds those of all", async () => {
    const charges = await Promise.all([...keys, ...keys].map((key) => guarded.counters.charge(key, request)));
    expect(charges.every(({ isGranted }) => isGranted)).toBe(true);
    const sizes = await Promise.all(cluster.servers.map(async ({ command }) => Number((await command("DBSIZE")).slice(1))));
    expect(sizes.every((size) => size > 0)).toBe(true);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const step = await guarded.counters.scan?.("namespace:rlns_1:", cursor);
      found.push(...(step?.keys ?? []));
      cursor = step?.next;
    } while (cursor !== undefined);
    expect(found.sort()).toEqual(keys.toSorted());
  });

  test("a counter goes on where its slot has moved to", async () => {
    const [key = ""] = keys;
    const before = (await guarded.counters.read(key))?.current ?? 0;
    await cluster.moveSlotOf(`latchkey:{${key}}`);
    expect((await guarded.counters.charge(key, request)).counter.current).toBe(before + 1);
    expect((await guarded.counters.read(key))?.current).toBe(before + 1);
  });

  test("servers that have forgotten the scripts get them again", async () => {
    for (const { command } of cluster.servers) await command("SCRIPT", "FLUSH");
    for (const key of keys) expect((await guarded.counters.charge(key, request)).isGranted).toBe(true);
  });

  test("a server that is killed takes only its own counters along, until it is back", async () => {
    const [dead] = cluster.servers;
    await dead?.end();
    const results = await Promise.all(keys.map((key) => guarded.counters.charge(key, request).catch((error: unknown) => error)));
    const failed = results.filter((result) => result instanceof StoreUnavailableError);
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThan(keys.length);
    expect(guarded.state()).toBe("up");
    await dead?.restart();
    for (const key of keys) await charge(guarded.counters, key);
  });
});
