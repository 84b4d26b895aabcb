import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { systemSource } from "../../src/features/audit/auditEvent.ts";
import { createRootKey } from "../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../../src/features/rootKeys/rootKeysRepository.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sized } from "../support/sized.ts";
import { eventsIn } from "../support/written.ts";
import { carryOut, createKey, type Node, readCredits } from "./creditsClient.ts";
import { type Batch, batches, type Credits, monthlyRefills, possibleAfter, startingCredits } from "./creditsModel.ts";

const DAY = 86_400_000;
const server = process.env.MONGODB_URL;

/** Two services as processes of their own on one MongoDB database. Their clock is the machine's. */
describe.skipIf(server === undefined)("two processes on mongo", { timeout: 300_000 }, () => {
  const url = freshMongoUrl(server ?? "mongodb://unused/");
  const services: ServiceProcess[] = [];
  let store: Store;
  let nodes: Node[] = [];
  /** A day of the month on which no refill comes while this runs. */
  const quietDay = new Date(systemClock.now() + 14 * DAY).getUTCDate();

  beforeAll(async () => {
    store = openMongoStore({ url });
    await store.prepare();
    const rootKeys = createRootKeysRepository(store);
    const rootKey = (await createRootKey(rootKeys, {}, systemSource(systemClock))).key.reveal();
    for (const _ of [1, 2]) services.push(await startService({ env: { MONGODB_URL: url } }));
    nodes = services.map((service) => {
      const edge = v2Edge(service.url);
      return (procedure, body) => edge.call(procedure, body, rootKey);
    });
  });
  afterAll(async () => {
    for (const service of services) await service[Symbol.asyncDispose]();
    await store.close();
    await dropMongoDatabase(url);
  });
  const nodeAt = (index: number): Node => nodes[index] ?? expect.unreachable();

  /** @param age how long ago, in milliseconds, the refill was configured. */
  const check = async (start: Omit<Credits, "mark">, age: number, planned: readonly Batch[]): Promise<void> => {
    const key = await createKey(nodeAt(0), start);
    const mark = systemClock.now() - age;
    if (start.refill !== undefined) await store.collection("keys").updateOne({ _id: key.keyId }, { $set: { refilledAt: mark } });
    let possible: readonly Credits[] = [{ ...start, ...(start.refill === undefined ? {} : { mark }) }];
    for (const { calls } of planned) {
      const results = await Promise.all(
        calls.map(async ({ action, node }) => ({ action, seen: await carryOut(nodeAt(node), key, action) })),
      );
      const before = possible;
      const read = { action: { do: "read" } as const, seen: await readCredits(nodeAt(0), key.keyId) };
      possible = possibleAfter(possibleAfter(before, results, systemClock.now()), [read], systemClock.now());
      expect(possible.length, `no order explains ${JSON.stringify({ before, results, read })}`).toBeGreaterThan(0);
    }
    const applied = (await eventsIn(store)).filter(({ actor, resources }) => actor.type === "system" && resources[0]?.id === key.keyId);
    expect(applied.length).toBeLessThanOrEqual(1);
  };

  test("[keys §9, verify §11] calls at the same time neither lose nor invent a credit", async () => {
    const possibilities = { unlimited: false, refills: monthlyRefills(quietDay) };
    const planned = batches({ ...possibilities, parallel: 6, nodes: 2, timeless: true });
    const ages = fc.constantFrom(0, 40 * DAY, 400 * DAY);
    await fc.assert(fc.asyncProperty(startingCredits(possibilities), ages, planned, check), { numRuns: sized(8, 25) });
  });

  test("[verify §11] exactly 60 of 200 verifications of a key with 60 credits are VALID, with the balances 59 to 0, each once", async () => {
    const key = await createKey(nodeAt(0), { remaining: 60 });
    const seen = await Promise.all(Array.from({ length: 200 }, (_, i) => carryOut(nodeAt(i % 2), key, { do: "verify", cost: 1 })));
    const balances = seen.flatMap((each) => {
      const { code, credits } = each as { code: string; credits: number };
      return code === "VALID" ? [credits] : [];
    });
    expect(balances.sort((a, b) => b - a)).toEqual(Array.from({ length: 60 }, (_, i) => 59 - i));
    expect(await readCredits(nodeAt(1), key.keyId)).toEqual({ credits: { remaining: 0 } });
  });

  test("[keys §1.9] a refill that is due on two nodes at once is applied once, with one event", async () => {
    for (let round = 0; round < 5; round++) {
      const refill = { interval: "monthly", amount: 10, refillDay: quietDay } as const;
      const key = await createKey(nodeAt(0), { remaining: 0, refill });
      const mark = systemClock.now() - 365 * DAY;
      await store.collection("keys").updateOne({ _id: key.keyId }, { $set: { refilledAt: mark } });
      await Promise.all([
        ...Array.from({ length: 40 }, (_, i) => carryOut(nodeAt(i % 2), key, { do: "verify", cost: 1 })),
        carryOut(nodeAt(round % 2), key, { do: "increment", value: 1000 }),
        carryOut(nodeAt((round + 1) % 2), key, { do: "configure", credits: { refill: { ...refill, amount: 1 } } }),
      ]);
      expect(await readCredits(nodeAt(1), key.keyId)).toMatchObject({ credits: { remaining: 1000 + 120 - 40 } });
      const events = (await eventsIn(store)).filter(({ actor, resources }) => actor.type === "system" && resources[0]?.id === key.keyId);
      expect(events).toHaveLength(1);
    }
  });

  test("[verify §11] a process that is killed during spends loses no credit without a call, and revives none", async () => {
    const key = await createKey(nodeAt(0), { remaining: 1000 });
    const running = Array.from({ length: 200 }, (_, i) => carryOut(nodeAt(i % 2), key, { do: "verify", cost: 1 }));
    await Promise.race(running);
    services[1]?.kill("SIGKILL");
    const ended = await Promise.allSettled(running);
    const granted = ended.filter((each) => each.status === "fulfilled" && (each.value as { code: string }).code === "VALID").length;
    const { credits } = (await readCredits(nodeAt(0), key.keyId)) as { credits: { remaining: number } };
    expect(granted).toBeGreaterThanOrEqual(100);
    expect(credits.remaining).toBeLessThanOrEqual(1000 - granted);
    expect(credits.remaining).toBeGreaterThanOrEqual(800);
  });
});
