import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type ServerProcess, startCounterServer } from "../../bench/harness/counterServers.ts";
import { type NetworkProxy, openProxy } from "../../bench/harness/proxy.ts";
import { type Admission, countExcess } from "../../bench/limiterRuns/admissions.ts";
import { countByServerTime } from "../../src/features/ratelimit/countByServerTime.ts";
import { createLimiter, type Limiter } from "../../src/features/ratelimit/limiter.ts";
import { type Clock, systemClock } from "../../src/platform/base/clock.ts";
import { guardCounters } from "../../src/platform/storage/decorators/guardCounters.ts";
import { connectCounterServer, describeOnCounterServer } from "../support/counterServers.ts";
import { sized } from "../support/sized.ts";

const DURATION = 1_000;
const LIMITS = [5, 40, 400] as const;

describeOnCounterServer("[ratelimit §13] nodes that count on one server", () => {
  const opened: (() => PromiseLike<unknown>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });

  interface Node {
    readonly limiter: Limiter;
    readonly clock: Clock;
    readonly network: NetworkProxy;
  }
  const startNode = async ({ port }: ServerProcess, offset: number): Promise<Node> => {
    const network = await openProxy({ host: "127.0.0.1", port });
    opened.push(network.close);
    const clock = { ...systemClock, now: () => Date.now() + offset };
    const server = await connectCounterServer(`redis://127.0.0.1:${network.port}`, { clock });
    opened.push(server.close);
    const { counters, close } = guardCounters(server.counters, server, { clock });
    opened.push(async () => close());
    const limiter = countByServerTime(createLimiter({ clock: server.clock, counters, storeDown: "deny" }), clock);
    limiter.start();
    opened.push(limiter.stop);
    return { limiter, clock, network };
  };

  /** Checks at random nodes for so many windows, while `disturb` runs; what passed, by limit. */
  const load = async (nodes: readonly Node[], windows: number, disturb: () => Promise<void>) => {
    const admitted = new Map<number, Admission[]>(LIMITS.map((limit) => [limit, []]));
    let isOver = false;
    const ask = async (limit: number): Promise<void> => {
      while (!isOver) {
        const { limiter, clock } = nodes[Math.floor(Math.random() * nodes.length)] as Node;
        const { passed, results } = await limiter.check([{ key: `limit ${limit}`, limit, duration: DURATION, cost: 1 }], clock.now());
        const seq = (results[0]?.reset ?? 0) / DURATION - 1;
        // Whatever was admitted counts as if it had been as late as it may have been.
        if (passed) admitted.get(limit)?.push({ seq, at: (seq + 1) * DURATION - 1, cost: 1 });
        await sleep(1);
      }
    };
    const asking = LIMITS.flatMap((limit) => Array.from({ length: 10 }, () => ask(limit)));
    const disturbing = disturb();
    await sleep(windows * DURATION);
    isOver = true;
    await disturbing;
    await Promise.all(asking);
    return admitted;
  };
  const expectWithin = (admitted: ReadonlyMap<number, readonly Admission[]>): void => {
    for (const [limit, log] of admitted) expect({ limit, excess: countExcess(log, limit, DURATION) }).toEqual({ limit, excess: 0 });
  };

  test("admit nothing beyond their limits, though their clocks are minutes apart", async () => {
    const server = await startCounterServer();
    opened.push(server[Symbol.asyncDispose]);
    const nodes = [await startNode(server, 0), await startNode(server, -300_000), await startNode(server, 40_000)];
    const windows = sized(4, 20);
    const admitted = await load(nodes, windows, async () => undefined);
    expectWithin(admitted);
    // Every other window at least, however busy the machine is.
    for (const [limit, log] of admitted) expect(log.length).toBeGreaterThanOrEqual((limit * windows) / 4);
  });

  test("admit nothing beyond their limits while connections break and the server is killed, if it writes down what it counts", async () => {
    const server = await startCounterServer({ settings: ["--appendonly", "yes", "--appendfsync", "always"] });
    opened.push(server[Symbol.asyncDispose]);
    const nodes = [await startNode(server, 0), await startNode(server, 0), await startNode(server, 0)];
    const admitted = await load(nodes, sized(6, 30), async () => {
      for (let round = 0; round < sized(2, 10); round++) {
        for (const { network } of nodes) {
          network.cut();
          await sleep(50);
          network.resume();
          await sleep(250);
        }
        await server.end();
        await sleep(100);
        await server.restart();
        await sleep(500);
        server.kill("SIGSTOP");
        await sleep(1_200);
        server.kill("SIGCONT");
      }
    });
    expectWithin(admitted);
    expect([...admitted.values()].flat().length).toBeGreaterThan(0);
  });
});
