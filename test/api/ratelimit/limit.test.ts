import { describe, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { eventsIn } from "../../support/written.ts";

/** Long enough that no window ends while a test runs. */
const MONTH = 2_592_000_000;

interface Checked {
  readonly success: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

everywhere((run: Run) => {
  const ask = (fields: object, rootKey?: string): Promise<Answer> =>
    run.call("ratelimit.limit", { namespace: "default", identifier: "user", limit: 10, duration: MONTH, ...fields }, rootKey);
  const check = async (fields: object): Promise<Checked> => dataOf(await ask(fields)) as unknown as Checked;
  const times = (count: number, fields: object): Promise<Checked[]> => Promise.all(Array.from({ length: count }, () => check(fields)));
  const namespaceOf = (name: string) => run.api.store.collection("namespaces").findOne({ name });
  const idOf = async (name: string): Promise<string> => (await namespaceOf(name))?._id ?? expect.unreachable(`no namespace ${name}`);
  const passes = (checked: readonly Checked[]): number => checked.filter(({ success }) => success).length;

  describe("the check", () => {
    test("[ratelimit §6] the answer has success, limit, remaining and reset, and overrideId only when one applied", async () => {
      const identifier = run.unique("user");
      const checked = await check({ identifier });
      expect(checked).toEqual({ success: true, limit: 10, remaining: 9, reset: expect.any(Number) });
      expect(checked.reset % MONTH).toBe(0);
      expect(checked.reset).toBeGreaterThan(Date.now());
      expect(checked.reset).toBeLessThanOrEqual(Date.now() + MONTH);
    });

    test("[ratelimit §3] denied calls never count, report remaining 0, and a smaller cost right after can pass", async () => {
      const identifier = run.unique("user");
      expect(await check({ identifier, cost: 8 })).toMatchObject({ success: true, remaining: 2 });
      for (let i = 0; i < 5; i++) expect(await check({ identifier, cost: 3 })).toMatchObject({ success: false, limit: 10, remaining: 0 });
      expect(await check({ identifier, cost: 2 })).toMatchObject({ success: true, remaining: 0 });
    });

    test("[ratelimit §3] cost 0 is a peek: it takes nothing, passes at exactly the limit, and is denied beyond it", async () => {
      const identifier = run.unique("user");
      expect(await check({ identifier, cost: 0 })).toMatchObject({ success: true, remaining: 10 });
      await check({ identifier, cost: 10 });
      expect(await check({ identifier, cost: 0 })).toMatchObject({ success: true, remaining: 0 });
      expect(await check({ identifier, cost: 0, limit: 9 })).toMatchObject({ success: false, remaining: 0 });
    });

    test("[ratelimit §3] limit is no part of the counter: raised, the rest becomes available, lowered, it is denied", async () => {
      const identifier = run.unique("user");
      await check({ identifier, cost: 10 });
      expect(await check({ identifier, limit: 15 })).toMatchObject({ success: true, limit: 15, remaining: 4 });
      expect(await check({ identifier, limit: 11 })).toMatchObject({ success: false });
      expect(await check({ identifier, limit: 12 })).toMatchObject({ success: true, remaining: 0 });
    });

    test("[ratelimit §3] each duration has a counter of its own, which is found again", async () => {
      const identifier = run.unique("user");
      await check({ identifier, cost: 10 });
      expect(await check({ identifier, duration: MONTH / 2 })).toMatchObject({ success: true, remaining: 9 });
      expect(await check({ identifier })).toMatchObject({ success: false });
    });

    test("[ratelimit §3] each namespace and each identifier has a counter of its own", async () => {
      const identifier = run.unique("user");
      await check({ identifier, cost: 10 });
      expect(await check({ identifier: `${identifier}x` })).toMatchObject({ remaining: 9 });
      expect(await check({ identifier, namespace: run.unique("other") })).toMatchObject({ remaining: 9 });
    });

    test("[ratelimit §3] a cost above the limit never passes, and the largest numbers do not overflow", async () => {
      const identifier = run.unique("user");
      const most = Number.MAX_SAFE_INTEGER;
      expect(await check({ identifier, cost: most })).toMatchObject({ success: false, remaining: 0 });
      expect(await check({ identifier, cost: most - 1, limit: most })).toMatchObject({ success: true, limit: most, remaining: 1 });
      expect(await check({ identifier, cost: most, limit: most })).toMatchObject({ success: false });
      expect(await check({ identifier, limit: most })).toMatchObject({ success: true, remaining: 0 });
      expect(await check({ identifier, limit: most })).toMatchObject({ success: false });
    });

    test("[ratelimit §3] exactly 10 of 50 parallel calls pass a limit of 10, and see 9 to 0, each once", async () => {
      for (let round = 0; round < 10; round++) {
        const checked = await times(50, { identifier: run.unique("user") });
        const left = checked.filter(({ success }) => success).map(({ remaining }) => remaining);
        expect(left.sort((a, b) => b - a)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        expect(checked.every(({ success, remaining }) => success || remaining === 0)).toBe(true);
      }
    });

    test("[ratelimit §3] exactly 120 of 150 parallel calls pass a limit of 120 that is charged in chunks", async () => {
      const checked = await times(150, { identifier: run.unique("user"), limit: 120 });
      expect(passes(checked)).toBe(120);
      expect(new Set(checked.filter(({ success }) => success).map(({ remaining }) => remaining)).size).toBe(120);
    });

    // The embedded store has one node: a second process can only be a tool, which keeps no counters.
    const onSharedStore = test.runIf(run.engine === "mongo");

    onSharedStore("[ratelimit §12] two nodes never admit more than the limit together, and at least 95 % of it", async () => {
      const other = await run.other();
      for (const limit of [10, 60]) {
        const body = { namespace: "shared", identifier: run.unique("user"), limit, duration: MONTH };
        const answers = await Promise.all(
          Array.from({ length: limit * 3 }, (_, i) => run.data("ratelimit.limit", body, undefined, i % 2 === 0 ? run.api : other)),
        );
        const passed = answers.filter(({ success }) => success).length;
        expect(passed).toBeLessThanOrEqual(limit);
        expect(passed).toBeGreaterThanOrEqual(0.95 * limit);
      }
    });

    onSharedStore("[ratelimit §12] a peek on another node reports what was spent here", async () => {
      const body = { namespace: "shared", identifier: run.unique("user"), limit: 10, duration: MONTH };
      for (let i = 0; i < 4; i++) await run.data("ratelimit.limit", body);
      expect(await run.data("ratelimit.limit", { ...body, cost: 0 }, undefined, await run.other())).toMatchObject({ remaining: 6 });
    });
  });

  describe("the names", () => {
    test("[ratelimit §1] names and identifiers are opaque: letter case, accents, composition and white space all tell them apart", async () => {
      const texts = [
        "Name",
        "name",
        "n\u00e4me",
        "na\u0308me",
        " name",
        "name ",
        "name\n",
        "na/me",
        "na:me",
        "\u{1F511}",
        "name.*",
        "*",
        "$name",
        "na\u0000me",
      ];
      const stem = run.unique("opaque");
      for (const text of texts) expect(await check({ namespace: `${stem}${text}` }), JSON.stringify(text)).toMatchObject({ remaining: 9 });
      for (const text of texts) expect(await check({ namespace: `${stem}${text}` }), JSON.stringify(text)).toMatchObject({ remaining: 8 });
      for (const text of texts)
        expect(await check({ namespace: stem, identifier: text }), JSON.stringify(text)).toMatchObject({ remaining: 9 });
      for (const text of texts)
        expect(await check({ namespace: stem, identifier: text }), JSON.stringify(text)).toMatchObject({ remaining: 8 });
    });

    test("[ratelimit §6] namespaces and identifiers of 512 code points, whatever they take in bytes", async () => {
      const stem = run.unique("long");
      const long = `${stem}${"\u{1F511}".repeat(512 - stem.length)}`;
      for (const remaining of [9, 8]) expect(await check({ namespace: long, identifier: long })).toMatchObject({ remaining });
    });

    test("[ratelimit §1] a namespace is found by its id as well as by its name, the id first", async () => {
      const name = run.unique("named");
      await check({ namespace: name });
      const id = await idOf(name);
      expect(await check({ namespace: id })).toMatchObject({ remaining: 8 });
      expect(await check({ namespace: name })).toMatchObject({ remaining: 7 });
    });
  });

  describe("a namespace that does not exist yet", () => {
    const rootKeyWith = (...permissions: string[]) => run.api.createRootKey({ permissions });

    test("[ratelimit §4] is made, named exactly as sent, also when that looks like an id; its event is written once", async () => {
      for (const name of [run.unique("fresh"), `rlns_${run.unique("").replaceAll("-", "")}`]) {
        await check({ namespace: name });
        await check({ namespace: name });
        const id = await idOf(name);
        const events = (await eventsIn(run.api.store)).filter(({ resources }) => resources.some((resource) => resource.id === id));
        expect(events.map(({ event, resources }) => [event, resources])).toEqual([
          ["ratelimitNamespace.create", [{ type: "ratelimitNamespace", id, name }]],
        ]);
      }
    });

    test("[ratelimit §4] parallel first calls, on two nodes, make one namespace, share one counter, and none fails", async () => {
      const name = run.unique("raced");
      const other = await run.other();
      const body = { namespace: name, identifier: "user", limit: 20, duration: MONTH };
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) => run.call("ratelimit.limit", body, undefined, i % 2 === 0 ? run.api : other)),
      );
      const passed = answers.filter((answer) => dataOf(answer).success).length;
      expect(passed).toBeGreaterThanOrEqual(20);
      if (run.engine === "mongo") expect(passed).toBe(20);
      expect((await run.api.store.collection("namespaces").find({ name }).toArray()).length).toBe(1);
      const created = (await eventsIn(run.api.store)).filter(
        ({ event, resources }) => event === "ratelimitNamespace.create" && resources[0]?.name === name,
      );
      expect(created.length).toBe(1);
    });

    test("[ratelimit §4] needs create_namespace and limit for all; without either it is 403 naming it, and nothing is made", async () => {
      const name = run.unique("refused");
      for (const [held, missing] of [
        [["ratelimit.*.limit"], ["ratelimit.*.create_namespace"]],
        [["ratelimit.*.create_namespace"], ["ratelimit.*.limit"]],
        [["ratelimit.rlns_1.limit", "ratelimit.*.create_namespace"], ["ratelimit.*.limit"]],
        [[], ["ratelimit.*.create_namespace"]],
      ] as const) {
        const error = expectError(
          await ask({ namespace: name }, await rootKeyWith(...held)),
          403,
          "unkey/authorization/insufficient_permissions",
        );
        for (const permission of missing) expect(error.detail).toContain(permission);
        expect(await namespaceOf(name)).toBeNull();
      }
      const both = await rootKeyWith("ratelimit.*.limit", "ratelimit.*.create_namespace");
      expect(dataOf(await ask({ namespace: name }, both)).success).toBe(true);
    });
  });

  describe("a namespace that exists", () => {
    test("[ratelimit §2] needs limit for it or for all; the 403 names both, the namespace's own first, and nothing is consumed", async () => {
      const name = run.unique("guarded");
      await check({ namespace: name });
      const id = await idOf(name);
      for (const held of [
        [],
        ["ratelimit.*.create_namespace"],
        ["ratelimit.rlns_other.limit"],
        [`ratelimit.${id}.set_override`],
        [`ratelimit.${id}.read_namespace`],
      ]) {
        const rootKey = await run.api.createRootKey({ permissions: held });
        const error = expectError(await ask({ namespace: name }, rootKey), 403, "unkey/authorization/insufficient_permissions");
        expect(error.detail).toContain(`ratelimit.${id}.limit or ratelimit.*.limit`);
      }
      for (const [i, permission] of [`ratelimit.${id}.limit`, "ratelimit.*.limit"].entries()) {
        const rootKey = await run.api.createRootKey({ permissions: [permission] });
        expect(dataOf(await ask({ namespace: name }, rootKey))).toMatchObject({ success: true, remaining: 8 - i });
      }
    });

    test("[ratelimit §4] once it is soft-deleted, it is 410 by id and by name, after the permission, and its name stays taken", async () => {
      const name = run.unique("gone");
      const id = `rlns_${run.unique("").replaceAll("-", "")}gone`;
      await run.api.store
        .collection("namespaces")
        .insertOne({ _id: id, v: 1, workspaceId: "ws_default", createdAt: 1, deletedAt: 2, name });
      for (const namespace of [id, name]) {
        const error = expectError(await ask({ namespace }), 410, "unkey/data/ratelimit_namespace_gone");
        expect(error.title).toBe("Gone");
        expect(error.detail).toContain("deleted");
        const weak = await run.api.createRootKey({ permissions: ["ratelimit.*.create_namespace"] });
        expectError(await ask({ namespace }, weak), 403, "unkey/authorization/insufficient_permissions");
      }
      expect((await run.api.store.collection("namespaces").find({ name }).toArray()).length).toBe(1);
    });
  });
});

/** Replacements of valid fields, and the location of the violation. */
const refused: readonly (readonly [what: string, fields: Readonly<Record<string, unknown>>, location: string])[] = [
  ...["namespace", "identifier", "limit", "duration"].map((field) => [`no ${field}`, { [field]: undefined }, `body.${field}`] as const),
  ...["namespace", "identifier", "limit", "duration", "cost"].map(
    (field) => [`null for ${field}`, { [field]: null }, `body.${field}`] as const,
  ),
  ...["namespace", "identifier"].flatMap((field) => [
    [`an empty ${field}`, { [field]: "" }, `body.${field}`] as const,
    [`a ${field} of 513 code points`, { [field]: "\u{1F511}".repeat(513) }, `body.${field}`] as const,
    [`a ${field} that is no text`, { [field]: 1 }, `body.${field}`] as const,
  ]),
  ["a limit of 0", { limit: 0 }, "body.limit"],
  ["a limit above 2^53-1", { limit: 9_007_199_254_740_992 }, "body.limit"],
  ["a fractional limit", { limit: 1.5 }, "body.limit"],
  ["a limit in quotes", { limit: "10" }, "body.limit"],
  ["a duration of 999", { duration: 999 }, "body.duration"],
  ["a duration of more than 30 days", { duration: MONTH + 1 }, "body.duration"],
  ["a negative cost", { cost: -1 }, "body.cost"],
  ["a boolean cost", { cost: true }, "body.cost"],
  ["an unknown field", { async: true }, "body.async"],
];

everywhere(
  (run: Run) => {
    test.each(refused)(
      "[ratelimit §6] %s is 400 at its place, before the namespace is looked up, and makes nothing",
      async (_, fields, location) => {
        const namespace = run.unique("invalid");
        const body = { namespace, identifier: "user", limit: 10, duration: MONTH, ...fields };
        const weak = await run.api.createRootKey({ permissions: [] });
        const error = expectError(await run.call("ratelimit.limit", body, weak), 400, "unkey/application/invalid_input");
        expect(error.errors?.map((each) => each.location)).toEqual([location]);
        expect(await run.api.store.collection("namespaces").findOne({ name: namespace })).toBeNull();
      },
    );

    test("[ratelimit §2] a root key that is unknown is 401 before anything is looked at", async () => {
      expectError(await run.call("ratelimit.limit", {}, "lkr_wrong"), 401, "unkey/authentication/key_not_found");
    });
  },
  ["v2"],
);
