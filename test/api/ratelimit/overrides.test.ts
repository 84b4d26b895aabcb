import { describe, expect, test } from "vitest";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { eventsIn } from "../../support/written.ts";

/** Long enough that no window ends while a test runs. */
const MONTH = 2_592_000_000;
const NO_NAMESPACE = "unkey/data/ratelimit_namespace_not_found";
const NO_OVERRIDE = "unkey/data/ratelimit_override_not_found";
const FORBIDDEN = "unkey/authorization/insufficient_permissions";

interface Overrides {
  readonly name: string;
  readonly id: string;
  readonly set: (identifier: string, limit?: number, duration?: number) => Promise<string>;
  readonly get: (identifier: string) => Promise<Record<string, unknown>>;
  readonly remove: (identifier: string) => Promise<Record<string, unknown>>;
  readonly check: (identifier: string, fields?: object) => Promise<Record<string, unknown>>;
  readonly eventsOf: (overrideId: string) => Promise<readonly { event: string; resources: readonly object[] }[]>;
}

/** A namespace of its own for one test. */
const openNamespace = async (run: Run): Promise<Overrides> => {
  const name = run.unique("overridden");
  await run.data("ratelimit.limit", { namespace: name, identifier: "first", limit: 10, duration: MONTH });
  const stored = await run.api.store.collection("namespaces").findOne({ name });
  const id = stored?._id ?? expect.unreachable(`no namespace ${name}`);
  return {
    name,
    id,
    set: async (identifier, limit = 3, duration = MONTH) => {
      const { overrideId, ...rest } = await run.data("ratelimit.setOverride", { namespace: name, identifier, limit, duration });
      expect(rest).toEqual({});
      return overrideId as string;
    },
    get: (identifier) => run.data("ratelimit.getOverride", { namespace: name, identifier }),
    remove: (identifier) => run.data("ratelimit.deleteOverride", { namespace: name, identifier }),
    check: (identifier, fields = {}) => run.data("ratelimit.limit", { namespace: name, identifier, limit: 10, duration: MONTH, ...fields }),
    eventsOf: async (overrideId) =>
      (await eventsIn(run.api.store))
        .filter(({ resources }) => resources[0]?.id === overrideId)
        .map(({ event, resources }) => ({ event, resources })),
  };
};

everywhere(
  (run: Run) => {
    describe("setOverride", () => {
      test("[ratelimit §8] answers the id; replacing keeps it, and each writes an event with the override as its target", async () => {
        const { set, get, eventsOf } = await openNamespace(run);
        const overrideId = await set("user");
        expect(overrideId).toMatch(/^rlor_[A-Za-z0-9]{16,}$/);
        expect(await set("user", 7, MONTH / 2)).toBe(overrideId);
        expect(await get("user")).toEqual({ overrideId, identifier: "user", limit: 7, duration: MONTH / 2 });
        const event = { event: "ratelimit.set_override", resources: [{ type: "ratelimitOverride", id: overrideId, name: "user" }] };
        expect(await eventsOf(overrideId)).toEqual([event, event]);
      });

      test("[ratelimit §8] after a delete, setting again brings a live override", async () => {
        const { set, get, remove, check } = await openNamespace(run);
        await set("user");
        await remove("user");
        const overrideId = await set("user", 4);
        expect(await get("user")).toMatchObject({ overrideId, limit: 4 });
        expect(await check("user")).toMatchObject({ limit: 4, overrideId });
      });

      test("[ratelimit §8] parallel sets of one identifier, on two nodes, leave one override, and all get its id", async () => {
        const { name, id, get, eventsOf } = await openNamespace(run);
        const other = await run.other();
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, i) => {
            const body = { namespace: name, identifier: "raced", limit: i + 1, duration: MONTH };
            return run.data("ratelimit.setOverride", body, undefined, i % 2 === 0 ? run.api : other);
          }),
        );
        const ids = new Set(answers.map(({ overrideId }) => overrideId as string));
        expect(ids.size).toBe(1);
        const [overrideId = ""] = ids;
        expect(await get("raced")).toMatchObject({ overrideId });
        expect(await run.api.store.collection("overrides").find({ namespaceId: id }).toArray()).toHaveLength(1);
        expect(await eventsOf(overrideId)).toHaveLength(12);
      });

      test("[ratelimit §8] has no longest duration and no largest limit, and limit 0 is one", async () => {
        const { set, get, check } = await openNamespace(run);
        const most = Number.MAX_SAFE_INTEGER;
        const overrideId = await set("user", most, most);
        expect(await get("user")).toEqual({ overrideId, identifier: "user", limit: most, duration: most });
        expect(await check("user")).toEqual({ success: true, limit: most, remaining: most - 1, reset: most, overrideId });
        await set("user", 0, 1_000);
        expect(await get("user")).toMatchObject({ limit: 0, duration: 1_000 });
      });

      test("[ratelimit §8] counters are untouched by it", async () => {
        const { set, check } = await openNamespace(run);
        await check("user", { cost: 4 });
        await set("user", 6);
        expect(await check("user")).toMatchObject({ success: true, remaining: 1 });
      });
    });

    describe("getOverride", () => {
      test("[ratelimit §9] finds by the exact text alone: no pattern, no other letter case, no other composition", async () => {
        const { set, get, name } = await openNamespace(run);
        for (const identifier of ["premium_*", "User", "n\u00e4me", "*", "a b\n", "na\u0000me", "\u{1F511}".repeat(512)]) {
          const overrideId = await set(identifier);
          expect(await get(identifier)).toEqual({ overrideId, identifier, limit: 3, duration: MONTH });
        }
        for (const identifier of ["premium_1", "premium_", "user", "na\u0308me", "a b", "name", "anything"]) {
          expectError(await run.call("ratelimit.getOverride", { namespace: name, identifier }), 404, NO_OVERRIDE);
        }
      });

      test("[ratelimit §1] takes the namespace by id and by name", async () => {
        const { set, id } = await openNamespace(run);
        const overrideId = await set("user");
        expect(await run.data("ratelimit.getOverride", { namespace: id, identifier: "user" })).toMatchObject({ overrideId });
      });
    });

    describe("deleteOverride", () => {
      test("[ratelimit §11] answers nothing, writes an event on override and namespace, and is 404 the second time", async () => {
        const { set, remove, name, id, eventsOf } = await openNamespace(run);
        const overrideId = await set("user");
        expect(await remove("user")).toEqual({});
        for (const procedure of ["ratelimit.deleteOverride", "ratelimit.getOverride"]) {
          expectError(await run.call(procedure, { namespace: name, identifier: "user" }), 404, NO_OVERRIDE);
        }
        expect((await eventsOf(overrideId)).at(-1)).toEqual({
          event: "ratelimit.delete_override",
          resources: [
            { type: "ratelimitOverride", id: overrideId, name: "user" },
            { type: "ratelimitNamespace", id, name },
          ],
        });
      });

      test("[ratelimit §11] a concrete identifier never deletes a pattern", async () => {
        const { set, get, name } = await openNamespace(run);
        const overrideId = await set("user_*");
        expectError(await run.call("ratelimit.deleteOverride", { namespace: name, identifier: "user_1" }), 404, NO_OVERRIDE);
        expect(await get("user_*")).toMatchObject({ overrideId });
      });

      test("[ratelimit §11] exactly one of several parallel deletes succeeds, with one event", async () => {
        const { set, name, eventsOf } = await openNamespace(run);
        const overrideId = await set("user");
        const other = await run.other();
        const answers = await Promise.all(
          Array.from({ length: 6 }, (_, i) =>
            run.call("ratelimit.deleteOverride", { namespace: name, identifier: "user" }, undefined, i % 2 === 0 ? run.api : other),
          ),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404, 404]);
        expect((await eventsOf(overrideId)).map(({ event }) => event)).toEqual(["ratelimit.set_override", "ratelimit.delete_override"]);
      });

      test("[ratelimit §11] a fresh override of another node is found", async () => {
        const { name } = await openNamespace(run);
        const other = await run.other();
        await run.data("ratelimit.getOverride", { namespace: name, identifier: "user" }).catch(() => undefined);
        await run.data("ratelimit.setOverride", { namespace: name, identifier: "user", limit: 1, duration: MONTH }, undefined, other);
        expect(await run.data("ratelimit.deleteOverride", { namespace: name, identifier: "user" })).toEqual({});
      });
    });

    describe("permissions", () => {
      const procedures = [
        ["ratelimit.setOverride", "set_override"],
        ["ratelimit.getOverride", "read_override"],
        ["ratelimit.listOverrides", "read_override"],
        ["ratelimit.deleteOverride", "delete_override"],
      ] as const;
      const bodyFor = (procedure: string, namespace: string, identifier: string): object => {
        if (procedure === "ratelimit.listOverrides") return { namespace };
        return procedure === "ratelimit.setOverride" ? { namespace, identifier, limit: 1, duration: MONTH } : { namespace, identifier };
      };

      test.each(procedures)(
        "[ratelimit §2] %s needs %s for the namespace or for all; no other action implies it",
        async (procedure, action) => {
          const { name, id, set } = await openNamespace(run);
          await set("known");
          const others = ["limit", "set_override", "read_override", "delete_override", "read_namespace", "list_overrides"]
            .filter((each) => each !== action)
            .map((each) => `ratelimit.*.${each}`);
          const weak = await run.api.createRootKey({ permissions: [...others, `ratelimit.rlns_other.${action}`] });
          const refusals = [];
          // The permission is judged before the override is looked up: nothing shows whether it exists.
          for (const identifier of ["known", "unknown"]) {
            const error = expectError(await run.call(procedure, bodyFor(procedure, name, identifier), weak), 403, FORBIDDEN);
            expect(error.detail).toContain(`ratelimit.${id}.${action} or ratelimit.*.${action}`);
            refusals.push({ ...error });
          }
          expect(refusals[0]).toEqual(refusals[1]);
          for (const permission of [`ratelimit.${id}.${action}`, `ratelimit.*.${action}`]) {
            const rootKey = await run.api.createRootKey({ permissions: [permission] });
            await set("known");
            dataOf(await run.call(procedure, bodyFor(procedure, id, "known"), rootKey));
          }
        },
      );

      test.each(procedures)(
        "[ratelimit §2] %s on a missing or deleted namespace is 404 also without %s, and makes none",
        async (procedure) => {
          const { name, id, set } = await openNamespace(run);
          await set("known");
          const missing = run.unique("missing");
          await run.api.store.collection("namespaces").updateOne({ _id: id }, { $set: { deletedAt: 1 } });
          const weak = await run.api.createRootKey({ permissions: [] });
          for (const rootKey of [run.api.rootKey, weak]) {
            for (const namespace of [missing, name, id]) {
              expectError(await run.call(procedure, bodyFor(procedure, namespace, "known"), rootKey), 404, NO_NAMESPACE);
            }
          }
          expect(await run.api.store.collection("namespaces").findOne({ name: missing })).toBeNull();
        },
      );
    });
  },
  ["v2", "grpc"],
);

const long = "\u{1F511}".repeat(513);
const text = (field: string): readonly (readonly [string, object, string])[] => [
  [`no ${field}`, { [field]: undefined }, `body.${field}`],
  [`null for ${field}`, { [field]: null }, `body.${field}`],
  [`an empty ${field}`, { [field]: "" }, `body.${field}`],
  [`a ${field} of 513 code points`, { [field]: long }, `body.${field}`],
  [`a ${field} that is no text`, { [field]: 1 }, `body.${field}`],
];
const unknown = ["an unknown field", { overrideId: "rlor_1" }, "body.overrideId"] as const;
const refused = [
  ...["ratelimit.setOverride", "ratelimit.getOverride", "ratelimit.deleteOverride"].flatMap((procedure) =>
    [...text("namespace"), ...text("identifier"), unknown].map((each) => [procedure, ...each] as const),
  ),
  ...(
    [
      ["no limit", { limit: undefined }, "body.limit"],
      ["null for limit", { limit: null }, "body.limit"],
      ["a limit of -1", { limit: -1 }, "body.limit"],
      ["a fractional limit", { limit: 0.5 }, "body.limit"],
      ["a limit above 2^53-1", { limit: 9_007_199_254_740_992 }, "body.limit"],
      ["no duration", { duration: undefined }, "body.duration"],
      ["a duration of 999", { duration: 999 }, "body.duration"],
      ["a duration in quotes", { duration: "1000" }, "body.duration"],
    ] as const
  ).map((each) => ["ratelimit.setOverride", ...each] as const),
  ...[...text("namespace"), unknown].map((each) => ["ratelimit.listOverrides", ...each] as const),
  ...(
    [
      ["a limit of 0", { limit: 0 }, "body.limit"],
      ["a limit of 101", { limit: 101 }, "body.limit"],
      ["null for limit", { limit: null }, "body.limit"],
      ["null for cursor", { cursor: null }, "body.cursor"],
      ["a cursor that is no text", { cursor: 1 }, "body.cursor"],
    ] as const
  ).map((each) => ["ratelimit.listOverrides", ...each] as const),
] as const;

everywhere(
  (run: Run) => {
    test.each(refused)(
      "[ratelimit §§8-11] %s with %s is 400 at its place, before the namespace is looked up",
      async (procedure, _, fields, at) => {
        const base = { namespace: run.unique("invalid"), identifier: "user", limit: 1, duration: MONTH };
        const taken = {
          "ratelimit.setOverride": ["namespace", "identifier", "limit", "duration"],
          "ratelimit.listOverrides": ["namespace"],
        };
        const names = taken[procedure as keyof typeof taken] ?? ["namespace", "identifier"];
        const body = Object.fromEntries(Object.entries(base).filter(([name]) => names.includes(name)));
        const weak = await run.api.createRootKey({ permissions: [] });
        const error = expectError(await run.call(procedure, { ...body, ...fields }, weak), 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual([at]);
      },
    );

    test.each(["namespace", "identifier"])("[ratelimit §1] a lone surrogate in the %s is no 5xx", async (field) => {
      const base = { namespace: "odd", identifier: "odd", limit: 1, duration: MONTH };
      for (const procedure of ["ratelimit.limit", "ratelimit.setOverride", "ratelimit.multiLimit"]) {
        const body = { ...base, [field]: "odd\ud800" };
        const { status } = await run.call(procedure, procedure === "ratelimit.multiLimit" ? [body] : body);
        expect(status).toBeLessThan(500);
      }
    });
  },
  ["v2"],
);
