import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";
import type { Edge } from "../../bench/harness/v2Edge.ts";
import { type Admission, countExcess } from "../../bench/limiterRuns/admissions.ts";
import { type Cluster, type ClusterNode, startCluster } from "../../bench/limiterRuns/cluster.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import { dataOf, startApi } from "../support/api.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { createShiftedClock } from "./shiftedClock.ts";

const MONTH = 2_592_000_000;
/** How far one node's clock is ahead, in milliseconds. */
const AHEAD = 200;
const server = process.env.MONGODB_URL;
const mongo = engines.find(({ name }) => name === "mongo");

/** Calls a second to each node, and what one limit lets through in a second: all nodes together ask for nearly twice as much. */
const RATE = sized(18, 60);
const LIMIT = sized(30, 100);

/** A node in this process, whose clock is ahead, on the database of a cluster and through a network of its own. */
const joinAhead = async ({ connect }: Cluster) => {
  const { url, network } = await connect();
  const clock = createShiftedClock();
  clock.shift(AHEAD);
  const store = openMongoStore({ url });
  await store.prepare();
  if (!mongo) throw new Error("there is no MongoDB server");
  const api = await startApi(mongo, { clock, store, env: { RATELIMIT_STORE_DOWN: "deny" } });
  return { api, network, edge: api.edges[0] as Edge };
};

interface Load {
  readonly log: readonly Admission[];
  readonly stop: () => Promise<void>;
}

/** Calls each edge at this rate, without waiting for answers, and records admissions. */
const load = (edges: readonly (() => Edge)[], rootKey: string, perSecond: number, body: { readonly duration: number }): Load => {
  const log: Admission[] = [];
  const calls = new Set<Promise<void>>();
  const ask = async (edge: Edge): Promise<void> => {
    // A killed node does not answer.
    const answer = await edge.call("ratelimit.limit", body, rootKey).catch(() => undefined);
    const { success, reset } = (answer?.body.data ?? {}) as { success?: boolean; reset?: number };
    if (!success || reset === undefined) return;
    // On the clock that is ahead of all others: what it explains is no fault.
    log.push({ seq: reset / body.duration - 1, at: Math.min(systemClock.now() + AHEAD, reset - 1), cost: 1 });
  };
  const timer = setInterval(() => {
    for (const edge of edges) {
      const call = ask(edge()).finally(() => calls.delete(call));
      calls.add(call);
    }
  }, 1_000 / perSecond);
  return {
    log,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(calls);
    },
  };
};

// Each test has a cluster of its own, and real time to wait for.
describe.runIf(server !== undefined)("three nodes on one MongoDB server", { concurrent: true }, () => {
  test("with deny admit nothing over a limit, whatever is stopped, killed, cut off or ahead; counters survive", async ({ expect }) => {
    await using cluster = await startCluster(server ?? "", 2, { RATELIMIT_STORE_DOWN: "deny" });
    const { rootKey, join } = cluster;
    const [steady, started] = cluster.nodes as [ClusterNode, ClusterNode];
    let victim: ClusterNode = started;
    const ahead = await joinAhead(cluster);
    const month = { namespace: "nemesis", identifier: "month", limit: 10, duration: MONTH };
    for (let i = 0; i < 10; i++) expect(dataOf(await victim.edge.call("ratelimit.limit", month, rootKey)).success).toBe(true);

    const edges = [() => steady.edge, () => victim.edge, () => ahead.edge];
    const body = { namespace: "nemesis", identifier: "everyone", limit: LIMIT, duration: 1_000 };
    const large = { ...body, identifier: "large", limit: 4 * LIMIT, duration: 4_000 };
    const loads = [load(edges, rootKey, RATE, body), load(edges, rootKey, RATE, large)];
    const calm = 1_000;
    await sleep(2 * calm);
    victim.service.kill("SIGSTOP");
    await sleep(1_500);
    victim.service.kill("SIGCONT");
    await sleep(calm);
    steady.network.hang();
    await sleep(1_500);
    steady.network.resume();
    ahead.network.cut();
    await sleep(calm);
    ahead.network.resume();
    await sleep(calm);
    victim.service.kill("SIGKILL");
    victim = await join();
    expect(dataOf(await victim.edge.call("ratelimit.limit", month, rootKey)).success).toBe(false);
    for (const { network } of [steady, victim, ahead]) network.hang();
    await sleep(calm);
    for (const { network } of [steady, victim, ahead]) network.resume();
    await sleep(3 * calm);
    const until = systemClock.now();
    await Promise.all(loads.map(({ stop }) => stop()));
    await ahead.api.close();

    for (const [i, { limit, duration }] of [body, large].entries()) {
      const log = loads[i]?.log ?? [];
      // More than one window's worth was admitted, on all of the nodes, also at the end.
      expect(log.length).toBeGreaterThan(4 * limit * (1_000 / duration));
      expect(Math.max(...log.map(({ at }) => at))).toBeGreaterThan(until - 2 * duration);
      expect(countExcess(log, limit, duration)).toBe(0);
    }
  }, 120_000);

  test("with allow admit at most one further limit each while the store is down, and continue by themselves", async ({ expect }) => {
    await using cluster = await startCluster(server ?? "", 2, { RATELIMIT_STORE_DOWN: "allow" });
    const { rootKey, nodes } = cluster;
    const limit = 60;
    const body = { namespace: "nemesis", identifier: "everyone", limit, duration: MONTH };
    const passes = async ({ edge }: ClusterNode, calls: number): Promise<number> => {
      const answers = await Promise.all(Array.from({ length: calls }, () => edge.call("ratelimit.limit", body, rootKey)));
      return answers.filter((answer) => dataOf(answer).success).length;
    };
    const sample = async ({ service }: ClusterNode, pattern: RegExp): Promise<number> =>
      Number(pattern.exec(await (await fetch(`${service.adminUrl}/metrics`)).text())?.[1] ?? 0);
    const up = /^latchkey_store_up\{[^}]*\} (\d)$/m;
    let admitted = 0;
    for (const node of nodes) admitted += await passes(node, 10);
    expect(admitted).toBe(20);
    // Until every node has heard that the namespace is new, and read it again.
    await sleep(1_500);
    const know = () => Promise.all(nodes.map(({ edge }) => edge.call("ratelimit.limit", { ...body, cost: 0 }, rootKey)));
    await know();
    for (let outage = 0; outage < 2; outage++) {
      for (const { network } of nodes) network.hang();
      const further = await Promise.all(nodes.map((node) => passes(node, 150)));
      for (const each of further) {
        expect(each).toBeLessThanOrEqual(limit + 10);
        admitted += each;
      }
      // The second outage of the window brings nothing more.
      expect(admitted).toBeLessThanOrEqual(limit + 2 * limit);
      expect(admitted).toBeGreaterThanOrEqual(20 + 2 * limit);
      for (const node of nodes) {
        expect(await sample(node, up)).toBe(0);
        expect(await sample(node, /^latchkey_ratelimit_decisions_total\{result="passed",source="store_down"\} (\d+)$/m)).toBe(limit);
        expect(await sample(node, /^latchkey_ratelimit_store_down\{policy="allow"\} (\d)$/m)).toBe(1);
        await expect.poll(() => node.service.output.stderr).toMatch(/"ratelimits":"allow","msg":"store away"/);
      }
      for (const { network } of nodes) network.resume();
      for (const node of nodes) {
        await expect.poll(() => sample(node, up)).toBe(1);
        expect(await sample(node, /^latchkey_ratelimit_store_down\{policy="allow"\} (\d)$/m)).toBe(0);
      }
      await know();
    }
    for (const node of nodes) await expect.poll(() => node.service.output.stderr).toContain("store back");
    for (const node of nodes) admitted += await passes(node, 100);
    expect(admitted).toBeLessThanOrEqual(limit + 2 * limit);
    expect(admitted).toBeGreaterThanOrEqual(0.95 * 3 * limit);
  }, 120_000);
});
