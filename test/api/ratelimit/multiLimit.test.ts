import { describe, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { eventsIn } from "../../support/written.ts";

/** Long enough that no window ends while a test runs. */
const MONTH = 2_592_000_000;
const FORBIDDEN = "unkey/authorization/insufficient_permissions";

interface Result {
  readonly namespace: string;
  readonly identifier: string;
  readonly passed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

interface Batch {
  readonly passed: boolean;
  readonly limits: readonly Result[];
}

everywhere(
  (run: Run) => {
    const entry = (fields: object): object => ({ namespace: "default", identifier: "user", limit: 10, duration: MONTH, ...fields });
    const ask = (entries: readonly object[], rootKey?: string): Promise<Answer> =>
      run.call(
        "ratelimit.multiLimit",
        entries.map((each) => entry(each)),
        rootKey,
      );
    const batch = async (...entries: readonly object[]): Promise<Batch> => dataOf(await ask(entries)) as unknown as Batch;
    const left = async (fields: object): Promise<unknown> => (await run.data("ratelimit.limit", entry({ ...fields, cost: 0 }))).remaining;
    const namespaceOf = (name: string) => run.api.store.collection("namespaces").findOne({ name });
    const makeNamespace = async (stem: string): Promise<{ name: string; id: string }> => {
      const name = run.unique(stem);
      await run.data("ratelimit.limit", entry({ namespace: name, identifier: "first" }));
      return { name, id: (await namespaceOf(name))?._id ?? expect.unreachable(`no namespace ${name}`) };
    };

    describe("the batch", () => {
      test("[ratelimit §7] the answer has one result per entry in their order, duplicates kept, with the request's texts and the field passed", async () => {
        const { name, id } = await makeNamespace("named");
        const [a, b] = [run.unique("a"), run.unique("b")];
        const { passed, limits } = await batch(
          { namespace: id, identifier: b },
          { namespace: name, identifier: a, limit: 20 },
          { namespace: id, identifier: b },
        );
        expect(passed).toBe(true);
        const reset = expect.any(Number);
        expect(limits).toEqual([
          { namespace: id, identifier: b, passed: true, limit: 10, remaining: 9, reset },
          { namespace: name, identifier: a, passed: true, limit: 20, remaining: 19, reset },
          { namespace: id, identifier: b, passed: true, limit: 10, remaining: 8, reset },
        ]);
        for (const each of limits) expect(each.reset % MONTH).toBe(0);
      });

      test("[ratelimit §7] if one entry exceeds its limit nothing is consumed, and the others report what they have without their cost", async () => {
        const [wide, narrow] = [run.unique("wide"), run.unique("narrow")];
        await batch({ identifier: wide, cost: 4 }, { identifier: narrow, limit: 2, cost: 2 });
        const { passed, limits } = await batch(
          { identifier: wide, cost: 3 },
          { identifier: narrow, limit: 2 },
          { identifier: wide, cost: 0 },
        );
        expect(passed).toBe(false);
        expect(limits).toMatchObject([
          { passed: true, remaining: 6 },
          { passed: false, remaining: 0 },
          // It sees the entry before it, not its own cost.
          { passed: true, remaining: 3 },
        ]);
        expect(await left({ identifier: wide })).toBe(6);
        expect(await left({ identifier: narrow, limit: 2 })).toBe(0);
      });

      test("[ratelimit §7] two entries on one counter: 5 leaves 4 then 3; 1 fits the first alone, and consumes nothing", async () => {
        const [five, one] = [run.unique("five"), run.unique("one")];
        expect(await batch({ identifier: five, limit: 5 }, { identifier: five, limit: 5 })).toMatchObject({
          passed: true,
          limits: [{ remaining: 4 }, { remaining: 3 }],
        });
        expect(await batch({ identifier: one, limit: 1 }, { identifier: one, limit: 1 })).toMatchObject({
          passed: false,
          limits: [
            { passed: true, remaining: 1 },
            { passed: false, remaining: 0 },
          ],
        });
        expect(await left({ identifier: one, limit: 1 })).toBe(1);
      });

      test("[ratelimit §7] entries of one counter are judged after those before them, not those behind", async () => {
        const identifier = run.unique("ordered");
        const { passed, limits } = await batch(
          { identifier, cost: 6 },
          { identifier, cost: 6 },
          { identifier, cost: 2 },
          { identifier, limit: 20, cost: 2 },
        );
        expect(passed).toBe(false);
        // 6 of 10, 12 of 10, 14 of 10, 16 of 20.
        expect(limits.map((each) => each.passed)).toEqual([true, false, false, true]);
        expect(await left({ identifier })).toBe(10);
      });

      test("[ratelimit §7] shares its counters with limit", async () => {
        const identifier = run.unique("shared");
        await run.data("ratelimit.limit", entry({ identifier, cost: 3 }));
        expect(await batch({ identifier, cost: 2 })).toMatchObject({ passed: true, limits: [{ remaining: 5 }] });
        expect(await run.data("ratelimit.limit", entry({ identifier }))).toMatchObject({ remaining: 4 });
      });

      test("[ratelimit §7] takes 100 entries, whose cost may be 0", async () => {
        const stem = run.unique("many");
        const { passed, limits } = await batch(...Array.from({ length: 100 }, (_, i) => ({ identifier: `${stem}${i}`, cost: i % 2 })));
        expect(passed).toBe(true);
        expect(limits.map(({ identifier }) => identifier)).toEqual(Array.from({ length: 100 }, (_, i) => `${stem}${i}`));
        expect(limits.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 100 }, (_, i) => 10 - (i % 2)));
      });

      test("[ratelimit §7] parallel batches on crossed counters pass as often as the limit says, and none sees more than it", async () => {
        const [a, b] = [run.unique("a"), run.unique("b")];
        const batches = await Promise.all(
          Array.from({ length: 30 }, (_, i) =>
            i % 2 === 0 ? batch({ identifier: a }, { identifier: b }) : batch({ identifier: b }, { identifier: a }),
          ),
        );
        expect(batches.filter(({ passed }) => passed).length).toBe(10);
        expect([await left({ identifier: a }), await left({ identifier: b })]).toEqual([0, 0]);
      });

      test("[ratelimit §7] on two nodes batches that fail keep nothing from those that could pass", async () => {
        const [shared, full] = [run.unique("shared"), run.unique("full")];
        const other = await run.other();
        await batch({ identifier: full, limit: 1 });
        await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            run.call(
              "ratelimit.multiLimit",
              [entry({ identifier: shared }), entry({ identifier: full, limit: 1 })],
              undefined,
              i % 2 ? other : run.api,
            ),
          ),
        );
        // Budget that a failed batch obtained stays on its node until it has been idle for a second.
        const passes = async (): Promise<number> => {
          let passed = 0;
          while ((await batch({ identifier: shared })).passed) passed++;
          return passed;
        };
        let passed = 0;
        await expect.poll(async () => (passed += await passes())).toBe(10);
      });
    });

    describe("overrides", () => {
      test("[ratelimit §5] apply to each entry on its own, with their id", async () => {
        const { name } = await makeNamespace("overridden");
        const { overrideId } = await run.data("ratelimit.setOverride", {
          namespace: name,
          identifier: "vip_*",
          limit: 50,
          duration: MONTH,
        });
        const { limits } = await batch({ namespace: name, identifier: "vip_1" }, { namespace: name, identifier: "plain" });
        expect(limits).toMatchObject([
          { limit: 50, remaining: 49, overrideId },
          { limit: 10, remaining: 9 },
        ]);
        expect(limits[1]).not.toHaveProperty("overrideId");
      });
    });

    describe("namespaces", () => {
      test("[ratelimit §4] all missing ones are made together, each once with its event", async () => {
        const [a, b] = [run.unique("made"), run.unique("made")];
        await batch({ namespace: a }, { namespace: b }, { namespace: a });
        const events = (await eventsIn(run.api.store)).filter(({ resources }) => [a, b].includes(resources[0]?.name ?? ""));
        expect(events.map(({ event, resources }) => [event, resources[0]?.name]).sort()).toEqual([
          ["ratelimitNamespace.create", a],
          ["ratelimitNamespace.create", b],
        ]);
      });

      test("[ratelimit §7] limit is needed for every one of them, create_namespace for a missing one; else nothing is made or consumed", async () => {
        const [one, two] = [await makeNamespace("one"), await makeNamespace("two")];
        const missing = run.unique("missing");
        for (const [held, namespaces, needed] of [
          [[`ratelimit.${one.id}.limit`], [one.name, two.name], [`ratelimit.${two.id}.limit or ratelimit.*.limit`]],
          [["ratelimit.*.limit"], [one.name, missing], ["ratelimit.*.create_namespace"]],
          [["ratelimit.*.create_namespace", `ratelimit.${one.id}.limit`], [one.name, missing], ["ratelimit.*.limit"]],
          [["ratelimit.*.create_namespace"], [one.name, two.name], [`ratelimit.${one.id}.limit`, `ratelimit.${two.id}.limit`]],
        ] as const) {
          const rootKey = await run.api.createRootKey({ permissions: held });
          const identifier = run.unique("user");
          const error = expectError(
            await ask(
              namespaces.map((namespace) => ({ namespace, identifier })),
              rootKey,
            ),
            403,
            FORBIDDEN,
          );
          for (const permission of needed) expect(error.detail).toContain(permission);
          expect(await left({ namespace: one.name, identifier })).toBe(10);
          expect(await namespaceOf(missing)).toBeNull();
        }
        const rootKey = await run.api.createRootKey({ permissions: [`ratelimit.${one.id}.limit`, `ratelimit.${two.id}.limit`] });
        expect(dataOf(await ask([{ namespace: one.id }, { namespace: two.name }], rootKey)).passed).toBe(true);
      });

      test("[ratelimit §7] one that is soft-deleted refuses the whole batch with 410, after the permissions, and nothing is made", async () => {
        const [live, gone] = [await makeNamespace("live"), await makeNamespace("gone")];
        const missing = run.unique("missing");
        await run.api.store.collection("namespaces").updateOne({ _id: gone.id }, { $set: { deletedAt: 1 } });
        // As after an operator's command, the service was not notified: the other node has not cached it.
        const other = await run.other();
        for (const namespace of [gone.id, gone.name]) {
          const body = [entry({ namespace: live.name }), entry({ namespace }), entry({ namespace: missing })];
          expectError(await run.call("ratelimit.multiLimit", body, undefined, other), 410, "unkey/data/ratelimit_namespace_gone");
          const weak = await run.api.createRootKey({ permissions: [`ratelimit.${live.id}.limit`] });
          expectError(await run.call("ratelimit.multiLimit", body, weak, other), 403, FORBIDDEN);
        }
        expect(await namespaceOf(missing)).toBeNull();
        expect(await left({ namespace: live.name })).toBe(10);
      });
    });
  },
  ["v2", "grpc"],
);

const valid = { namespace: "invalid", identifier: "user", limit: 10, duration: MONTH };

everywhere(
  (run: Run) => {
    test.each([
      ["an object", valid, ["body"]],
      ["null", null, ["body"]],
      ["an empty array", [], ["body"]],
      ["101 entries", Array.from({ length: 101 }, () => valid), ["body"]],
      ["an entry that is no object", [valid, 1], ["body[1]"]],
      ["an entry that is null", [null], ["body[0]"]],
      ["a missing field in the second entry", [valid, { ...valid, limit: undefined }], ["body[1].limit"]],
      ["problems in several entries", [{ ...valid, duration: 999 }, valid, { ...valid, cost: null }], ["body[0].duration", "body[2].cost"]],
      ["an unknown field", [{ ...valid, async: true }], ["body[0].async"]],
      ["a limit of 0", [{ ...valid, limit: 0 }], ["body[0].limit"]],
      ["a negative cost", [{ ...valid, cost: -1 }], ["body[0].cost"]],
    ])("[ratelimit §7] %s is 400 for the whole batch, and makes no namespace", async (_, body, locations) => {
      const weak = await run.api.createRootKey({ permissions: [] });
      const error = expectError(await run.call("ratelimit.multiLimit", body, weak), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location)).toEqual(locations);
      expect(await run.api.store.collection("namespaces").findOne({ name: "invalid" })).toBeNull();
    });
  },
  ["v2"],
);
