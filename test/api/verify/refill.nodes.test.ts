import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCreditSpender } from "../../../src/features/keys/creditSpender.ts";
import { createKeysRepository } from "../../../src/features/keys/keysRepository.ts";
import type { AuditEvent } from "../../../src/platform/storage/port/auditEvents.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock, type TestClock } from "../../support/testClock.ts";
import { eventsIn } from "../../support/written.ts";

const SECOND = 1000;
const DAY = 86_400_000;
const refill = { interval: "daily", amount: 10 } as const;

/** Two nodes on one store, each with a clock of its own. */
describe.each(engines)("on $name", (engine) => {
  let store: Store;
  let api: Api;
  let other: Api;
  const clock = createTestClock(Date.parse("2031-01-15T12:00:00Z"));
  const otherClock = createTestClock(clock.now());
  const clocks: readonly TestClock[] = [clock, otherClock];
  const advance = (milliseconds: number): void => {
    for (const each of clocks) each.advance(milliseconds);
  };
  /** Moves both clocks to the next midnight, and the given time beyond it. */
  const toMidnight = (offset: number): void => advance((Math.floor(clock.now() / DAY) + 1) * DAY + offset - clock.now());

  beforeAll(async () => {
    store = await engine.open();
    api = await startApi(engine, { store, clock });
    other = await startApi(engine, { store: await engine.openBeside(store), clock: otherClock });
  });
  afterAll(async () => {
    await other.close();
    await api.close();
    await engine.close();
  });
  const call = async (node: Api, procedure: string, body: object) =>
    dataOf((await node.edges[0]?.call(procedure, body, node.rootKey)) ?? expect.unreachable());
  const createKey = async (credits: object): Promise<{ keyId: string; key: string }> => {
    const { apiId } = await call(api, "apis.createApi", { name: "nodes" });
    return (await call(api, "keys.createKey", { apiId, credits })) as { keyId: string; key: string };
  };
  const balance = async (keyId: string) => ((await call(api, "keys.getKey", { keyId })).credits as { remaining: number }).remaining;
  const refillsOf = async (id: string): Promise<AuditEvent[]> =>
    (await eventsIn(api.store)).filter(({ actor, resources }) => actor.type === "system" && resources.some((each) => each.id === id));

  test("[verify §11] a node that has not seen a refill yet denies no call that the refill pays for", async () => {
    toMidnight(-10 * SECOND);
    const { keyId, key } = await createKey({ remaining: 1 });
    expect(await call(other, "keys.verifyKey", { key })).toMatchObject({ code: "VALID", credits: 0 });
    // As another node writes it, before this one has polled.
    await api.store.collection("keys").updateOne({ _id: keyId }, { $set: { refill, refilledAt: clock.now() } });
    expect(await call(other, "keys.verifyKey", { key })).toMatchObject({ code: "USAGE_EXCEEDED" });
    toMidnight(0);
    expect(await call(other, "keys.verifyKey", { key })).toMatchObject({ code: "VALID", credits: 9 });
    expect(await refillsOf(keyId)).toHaveLength(1);
  });

  test("[verify §3] a refused call does not count a refill twice that another node has brought in", async () => {
    toMidnight(-SECOND);
    const { keyId, key } = await createKey({ remaining: 5, refill });
    for (const node of [api, other]) await call(node, "keys.verifyKey", { key });
    toMidnight(0);
    expect(await call(api, "keys.verifyKey", { key })).toMatchObject({ credits: 12 });
    expect(await call(other, "keys.verifyKey", { key })).toMatchObject({ credits: 11 });
    const refused = { key, permissions: "not.held" };
    expect(await call(other, "keys.verifyKey", refused)).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS", credits: 11 });
    expect(await balance(keyId)).toBe(11);
  });

  test("[verify §11] spends that wait together are refilled for the latest of them", async () => {
    toMidnight(-SECOND);
    const { keyId } = await createKey({ remaining: 1, refill });
    const spender = createCreditSpender(createKeysRepository(api.store));
    advance(DAY);
    const [before, after] = [clock.now(), clock.now() + SECOND];
    // The first is on its way when the others come; of these, one arrived before midnight and one after it.
    const spends = await Promise.all([
      spender.spend(keyId, 0),
      spender.spend(keyId, 11, { now: before, refillDue: true }),
      spender.spend(keyId, 10, { now: after, refillDue: true }),
    ]);
    expect(spends.map(({ outcome }) => outcome)).toEqual(["spent", "spent", "spent"]);
    advance(SECOND);
    expect(await balance(keyId)).toBe(0);
  });

  test("[keys §1.9] a node whose clock is behind changes the schedule without giving the last instant again", async () => {
    toMidnight(-SECOND);
    const { keyId, key } = await createKey({ remaining: 0, refill });
    clock.advance(2 * SECOND);
    expect(await call(api, "keys.verifyKey", { key })).toMatchObject({ code: "VALID", credits: 9 });
    await call(other, "keys.updateKey", { keyId, credits: { refill: { interval: "daily", amount: 1000 } } });
    otherClock.advance(2 * SECOND);
    for (const node of [api, other]) {
      expect(await call(node, "keys.verifyKey", { key, credits: { cost: 0 } })).toMatchObject({ credits: 9 });
    }
    toMidnight(0);
    expect(await balance(keyId)).toBe(1009);
  });

  test("[keys §1.9] a node whose clock is behind neither refills early nor takes a refill back", async () => {
    toMidnight(-SECOND);
    const { keyId, key } = await createKey({ remaining: 0, refill });
    clock.advance(2 * SECOND);
    expect(await call(other, "keys.verifyKey", { key })).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
    expect(await call(api, "keys.verifyKey", { key })).toMatchObject({ code: "VALID", credits: 9 });
    expect(await call(other, "keys.updateCredits", { keyId, operation: "increment", value: 1 })).toMatchObject({ remaining: 10 });
    expect(await call(other, "keys.updateCredits", { keyId, operation: "set", value: 5 })).toMatchObject({ remaining: 5 });
    otherClock.advance(2 * SECOND);
    expect(await balance(keyId)).toBe(5);
    expect(await refillsOf(keyId)).toHaveLength(1);
  });

  test("[keys §1.9] at midnight, spends, changes of the balance and of the schedule on two nodes meet one refill", async () => {
    for (let round = 0; round < 5; round++) {
      toMidnight(-SECOND);
      const { keyId, key } = await createKey({ remaining: 100, refill: { interval: "daily", amount: 1_000_000 } });
      for (const node of [api, other]) await call(node, "keys.verifyKey", { key, credits: { cost: 0 } });
      toMidnight(round);
      const nodes = Array.from({ length: 24 }, (_, i) => (i % 2 ? other : api));
      await Promise.all([
        ...nodes.map((node) => call(node, "keys.verifyKey", { key })),
        ...nodes.map((node, i) => call(node, "keys.updateCredits", { keyId, operation: i % 3 ? "increment" : "decrement", value: 10 })),
        ...nodes
          .slice(0, 4)
          .map((node, i) => call(node, "keys.updateKey", { keyId, credits: { refill: { interval: "daily", amount: i + 1 } } })),
      ]);
      expect(await balance(keyId)).toBe(100 + 1_000_000 - 24 + 16 * 10 - 8 * 10);
      expect(await refillsOf(keyId)).toHaveLength(1);
    }
  });

  test("[keys §1.9] refills that came due while no service ran are applied after the next start", async () => {
    const { keyId, key } = await createKey({ remaining: 1, refill });
    await other.close();
    advance(100 * DAY);
    other = await startApi(engine, { store: await engine.openBeside(store), clock: otherClock });
    expect(await call(other, "keys.verifyKey", { key })).toMatchObject({ credits: 1000 });
    expect(await refillsOf(keyId)).toHaveLength(1);
  });
});
