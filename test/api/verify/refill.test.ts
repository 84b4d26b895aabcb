import { beforeEach, describe, expect, test } from "vitest";
import { everywhere } from "../../support/everywhere.ts";
import { createTestClock } from "../../support/testClock.ts";
import { eventsIn, everythingIn } from "../../support/written.ts";

const DAY = 86_400_000;
const MOST = Number.MAX_SAFE_INTEGER;
const clock = createTestClock(Date.parse("2031-01-15T12:00:00Z"));

const isLeap = (year: number): boolean => new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;
const moveTo = (time: number): void => clock.advance(time - clock.now());
const thisYear = (): number => new Date(clock.now()).getUTCFullYear();
/** `02-28T00:00:00Z` of this year. */
const at = (text: string): number => Date.parse(`${thisYear()}-${text}`);

const daily = (amount: number) => ({ interval: "daily", amount });
const monthly = (refillDay: number, amount: number) => ({ interval: "monthly", amount, refillDay });

everywhere(
  (run) => {
    // Each test has years of its own, and starts at noon of 15 January.
    beforeEach(() => moveTo(Date.UTC(thisYear() + 1, 0, 15, 12)));

    const limited = (remaining: number, refill: object, fields: object = {}) =>
      run.createKey({ ...fields, credits: { remaining, refill } });
    const balance = async (keyId: string) => ((await run.getKey(keyId)).credits as { remaining: number } | undefined)?.remaining;
    const update = (keyId: string, fields: object) => run.data("keys.updateKey", { keyId, ...fields });
    const credits = (keyId: string, operation: string, value?: number) => run.data("keys.updateCredits", { keyId, operation, value });
    const refillsOf = async (id: string) =>
      (await eventsIn(run.api.store)).filter(({ actor, resources }) => actor.type === "system" && resources.some((each) => each.id === id));

    describe("the schedule", () => {
      test("[keys §1.9] daily is every day at 00:00 UTC, the amount is added", async () => {
        const { keyId, key } = await limited(7, daily(10));
        moveTo(at("01-15T23:59:59.999Z"));
        expect(await run.verify(key, { credits: { cost: 0 } })).toMatchObject({ credits: 7 });
        clock.advance(1);
        expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 16 });
        moveTo(at("01-17T00:00:00Z"));
        expect(await balance(keyId)).toBe(26);
      });

      test.each([
        [1, "02-01", "03-01"],
        [15, "02-15", "03-15"],
        [28, "01-28", "02-28"],
      ])("[keys §1.9] monthly is 00:00 UTC on day %i: %s, then %s", async (day, ...instants) => {
        const { keyId } = await limited(0, monthly(day, 10));
        for (const [i, instant] of instants.entries()) {
          moveTo(at(`${instant}T00:00:00Z`) - 1);
          expect(await balance(keyId)).toBe(10 * i);
          clock.advance(1);
          expect(await balance(keyId)).toBe(10 * (i + 1));
        }
      });

      test.each([
        [31, false, ["01-31", "02-28", "03-31", "04-30", "05-31"]],
        [31, true, ["01-31", "02-29", "03-31", "04-30", "05-31"]],
        [30, false, ["01-30", "02-28", "03-30", "04-30"]],
        [30, true, ["01-30", "02-29", "03-30", "04-30"]],
        [29, false, ["01-29", "02-28", "03-29"]],
        [29, true, ["01-29", "02-29", "03-29"]],
      ])("[keys §1.9] day %i is the last day of a shorter month; leap year: %s", async (day, leap, instants) => {
        while (isLeap(thisYear()) !== leap) moveTo(Date.UTC(thisYear() + 1, 0, 15, 12));
        const { keyId, key } = await limited(0, monthly(day, 5));
        for (const [i, instant] of instants.entries()) {
          moveTo(at(`${instant}T00:00:00Z`) - 1);
          expect(await run.verify(key, { credits: { cost: 0 } }), `before ${instant}`).toMatchObject({ credits: 5 * i });
          clock.advance(1);
          expect(await run.verify(key, { credits: { cost: 0 } }), instant).toMatchObject({ credits: 5 * (i + 1) });
        }
        expect(await refillsOf(keyId)).toHaveLength(instants.length);
      });

      test("[keys §1.9] every instant counts, whether anything happened or not: k of them are k times the amount", async () => {
        const [days, months] = [await limited(3, daily(2)), await limited(3, monthly(31, 100))];
        clock.advance(10 * 365.25 * DAY);
        expect(await balance(days.keyId)).toBe(3 + 2 * Math.floor(10 * 365.25 + 0.5));
        expect(await balance(months.keyId)).toBe(3 + 100 * 120);
        expect(await run.verify(days.key)).toMatchObject({ credits: 2 + 2 * Math.floor(10 * 365.25 + 0.5) });
        expect(await run.verify(months.key)).toMatchObject({ credits: 2 + 12_000 });
      });

      test("[keys §1.9] a refill waits for the next instant after it was configured, also at the very moment of one", async () => {
        moveTo(at("01-16T00:00:00Z"));
        const created = await limited(0, daily(10));
        const updated = await run.createKey({ credits: { remaining: 0 } });
        await update(updated.keyId, { credits: { refill: monthly(16, 10) } });
        for (const { keyId } of [created, updated]) expect(await balance(keyId)).toBe(0);
        moveTo(at("01-17T00:00:00Z"));
        expect(await balance(created.keyId)).toBe(10);
        expect(await balance(updated.keyId)).toBe(0);
        moveTo(at("02-16T00:00:00Z"));
        expect(await balance(updated.keyId)).toBe(10);
      });
    });

    describe("the balance", () => {
      test("[keys §1.9] the amount is added to any balance, below or above it, up to 2^53-1", async () => {
        for (const [remaining, amount, after] of [
          [0, 10, 10],
          [9, 10, 19],
          [10, 10, 20],
          [1_000_000, 10, 1_000_010],
          [MOST - 10, 10, MOST],
          [MOST - 9, 10, MOST],
          [MOST, 1, MOST],
          [0, MOST, MOST],
          [1, MOST, MOST],
        ] as const) {
          const { keyId, key } = await limited(remaining, daily(amount));
          clock.advance(DAY);
          expect(await run.verify(key, { credits: { cost: 0 } }), `${remaining} + ${amount}`).toMatchObject({ credits: after });
          expect(await balance(keyId)).toBe(after);
        }
        const { key } = await limited(1, daily(MOST));
        clock.advance(1000 * DAY);
        expect(await run.verify(key)).toMatchObject({ credits: MOST - 1 });
      });

      test("[verify §11] an exhausted key is VALID again right after the instant", async () => {
        const { key } = await limited(1, daily(2));
        expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 0 });
        expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED" });
        moveTo(at("01-16T00:00:00Z"));
        expect(await run.verify(key, { credits: { cost: 2 } })).toMatchObject({ code: "VALID", credits: 0 });
        expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
      });

      test.each([
        ["disabled", { enabled: false }, "DISABLED"],
        ["expired", { expires: 0 }, "EXPIRED"],
      ])("[keys §1.9] a key that is %s is refilled, too, and its answers show it", async (_, fields, code) => {
        const { keyId, key } = await limited(1, daily(10), fields);
        moveTo(at("01-17T00:00:00Z"));
        expect(await run.verify(key)).toMatchObject({ code, credits: 21 });
        expect(await balance(keyId)).toBe(21);
        await update(keyId, { enabled: true, expires: null });
        expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 20 });
        expect(await run.verify(key, { permissions: "not.held" })).toMatchObject({ credits: 20 });
        clock.advance(DAY);
        expect(await run.verify(key, { permissions: "not.held" })).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS", credits: 30 });
      });

      test("[keys §1.9] a key without a finite balance is never refilled", async () => {
        const { keyId, key } = await limited(1, daily(10));
        await update(keyId, { credits: null });
        clock.advance(5 * DAY);
        expect(await run.verify(key)).not.toHaveProperty("credits");
        await update(keyId, { credits: { remaining: 4 } });
        clock.advance(5 * DAY);
        expect(await run.verify(key)).toMatchObject({ credits: 3 });
      });

      test("[keys §1.9] setting the balance by hand does not move the schedule; what was due before it is discarded", async () => {
        for (const set of [
          (keyId: string) => credits(keyId, "set", 100),
          (keyId: string) => update(keyId, { credits: { remaining: 100 } }),
        ]) {
          const { keyId } = await limited(1, daily(10));
          clock.advance(3 * DAY);
          await set(keyId);
          expect(await balance(keyId)).toBe(100);
          moveTo((Math.floor(clock.now() / DAY) + 1) * DAY - 1);
          expect(await balance(keyId)).toBe(100);
          clock.advance(1);
          expect(await balance(keyId)).toBe(110);
        }
      });

      test("[keys §1.9] increment and decrement add what is due first", async () => {
        const { keyId } = await limited(1, daily(10));
        clock.advance(DAY);
        expect(await credits(keyId, "decrement", 5)).toEqual({ remaining: 6, refill: daily(10) });
        clock.advance(2 * DAY);
        expect(await credits(keyId, "increment", 5)).toEqual({ remaining: 31, refill: daily(10) });
        clock.advance(DAY);
        expect(await credits(keyId, "increment", 0)).toEqual({ remaining: 41, refill: daily(10) });
        expect(await balance(keyId)).toBe(41);
        expect(await refillsOf(keyId)).toHaveLength(2);
      });

      test("[keys §3] a schedule that is changed or removed has given what was due until then", async () => {
        const [changed, removed] = [await limited(1, daily(10)), await limited(1, daily(10))];
        clock.advance(2 * DAY);
        await update(changed.keyId, { credits: { refill: monthly(31, 1000) } });
        await update(removed.keyId, { credits: { refill: null } });
        for (const { keyId } of [changed, removed]) {
          expect(await balance(keyId)).toBe(21);
          expect(await refillsOf(keyId)).toHaveLength(1);
        }
        moveTo(at("01-31T00:00:00Z"));
        expect(await balance(changed.keyId)).toBe(1021);
        expect(await balance(removed.keyId)).toBe(21);
        expect((await run.getKey(changed.keyId)).credits).toMatchObject({ refill: monthly(31, 1000) });
      });

      test("[keys §6] a reroll copies what is due with the balance; both keys are refilled from then on", async () => {
        const { keyId } = await limited(1, daily(10));
        clock.advance(2 * DAY);
        const fresh = (await run.data("keys.rerollKey", { keyId, expiration: null })).keyId as string;
        expect(await run.getKey(fresh)).not.toHaveProperty("updatedAt");
        for (const each of [keyId, fresh]) expect(await balance(each)).toBe(21);
        clock.advance(DAY);
        for (const each of [keyId, fresh]) expect(await balance(each)).toBe(31);
      });
    });

    describe("the writes of a refill", () => {
      test("[keys §1.9] updatedAt becomes the instant, for readers at once and in the store with the next spend", async () => {
        const { keyId, key, apiId } = await limited(1, daily(10));
        const instant = at("01-17T00:00:00Z");
        moveTo(instant + 12_345);
        const read = await run.getKey(keyId);
        expect(read).toMatchObject({ updatedAt: instant, credits: { remaining: 21 } });
        expect(await run.data("keys.whoami", { key })).toEqual(read);
        expect(await run.data("apis.listKeys", { apiId })).toEqual([read]);
        await run.verify(key, { credits: { cost: 0 } });
        expect(await run.getKey(keyId)).toEqual(read);
        expect(await run.api.store.collection("keys").findOne({ _id: keyId })).toMatchObject({
          remaining: 21,
          refilledAt: instant,
          updatedAt: instant,
        });
      });

      test("[keys §1.9] reading a key that is due writes nothing", async () => {
        const { keyId, key } = await limited(1, daily(10));
        clock.advance(DAY);
        const before = await everythingIn(run.api.store);
        await run.getKey(keyId);
        await run.data("keys.whoami", { key });
        await run.verify(key, { permissions: "not.held" });
        expect(await everythingIn(run.api.store)).toEqual(before);
      });

      test("[keys §1.9] each application writes one key.update by the system, with the old and the new balance", async () => {
        const { keyId, key } = await limited(5, daily(10), { name: "refilled" });
        await run.verify(key);
        clock.advance(3 * DAY);
        await Promise.all([1, 2, 3].map(() => run.verify(key)));
        expect(await refillsOf(keyId)).toEqual([
          {
            id: expect.stringMatching(/^log_/),
            event: "key.update",
            time: clock.now(),
            actor: { type: "system", id: "system" },
            display: expect.stringMatching(/\b4\b.*\b34\b/),
            resources: [{ type: "key", id: keyId, name: "refilled" }],
            correlationId: expect.stringMatching(/^cor_/),
            changes: ['{"field":"credits.remaining","before":4,"after":34}'],
          },
        ]);
        clock.advance(DAY);
        await run.verify(key);
        expect(await refillsOf(keyId)).toHaveLength(2);
      });

      test("[management §4] where a change brings in what is due, the refill and the change each tell their own part", async () => {
        const told = async (procedure: string, change: object) => {
          const { keyId } = await limited(1, daily(10));
          clock.advance(DAY);
          await run.data(procedure, { keyId, ...change });
          const events = (await eventsIn(run.api.store)).filter(({ resources }) => resources[0]?.id === keyId);
          return events.flatMap(({ actor, changes = [] }) => changes.map((text) => ({ actor: actor.type, ...JSON.parse(text) })));
        };
        const field = "credits.remaining";
        const refilled = { actor: "system", field, before: 1, after: 11 };
        const both = await told("keys.updateCredits", { operation: "increment", value: 4 });
        expect(both).toHaveLength(2);
        expect(both).toEqual(expect.arrayContaining([refilled, { actor: "rootkey", field, by: 4 }]));
        const refill = { interval: "daily", amount: 2 };
        const rescheduled = await told("keys.updateKey", { credits: { refill } });
        expect(rescheduled).toHaveLength(2);
        const changed = { actor: "rootkey", field: "credits.refill", before: expect.objectContaining({ amount: 10 }), after: refill };
        expect(rescheduled).toEqual(expect.arrayContaining([refilled, changed]));
        // A set discards what is due.
        expect(await told("keys.updateCredits", { operation: "set", value: 4 })).toEqual([
          { actor: "rootkey", field, before: 1, after: 4 },
        ]);
      });

      test("[keys §1.9] exactly once per key and instant, with two nodes that both see it due", async () => {
        const other = await run.other();
        const { keyId, key } = await limited(0, daily(10));
        const verify = (node: typeof other) => run.data("keys.verifyKey", { key }, undefined, node);
        await Promise.all([verify(run.api), verify(other)]);
        for (let day = 1; day <= 3; day++) {
          clock.advance(DAY);
          const verified = await Promise.all(Array.from({ length: 16 }, (_, i) => verify(i % 2 ? other : run.api)));
          expect(verified.flatMap(({ code, credits: left }) => (code === "VALID" ? [left] : [])).sort()).toEqual([
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
          ]);
          expect(await balance(keyId)).toBe(0);
          expect(await refillsOf(keyId)).toHaveLength(day);
        }
      });
    });
  },
  ["v2", "grpc"],
  { clock },
);
