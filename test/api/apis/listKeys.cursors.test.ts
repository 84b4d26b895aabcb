import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Intercept, interceptStore } from "../../../bench/harness/interceptStore.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { codePoint } from "../../support/codePoint.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { sized } from "../../support/sized.ts";
import { engines } from "../../support/stores.ts";

/** A list whose objects are created and deleted during a walk. `scope` keeps the objects of one walk apart from the others. */
interface List {
  readonly procedure: string;
  readonly open: (run: Run) => Promise<{
    readonly body: object;
    readonly create: () => Promise<unknown>;
    readonly remove: (id: string) => Promise<unknown>;
  }>;
  /** All walks share the list, so each removes the objects that it made. */
  readonly shared?: true;
  /** In place of ascending by id. */
  readonly newestFirst?: true;
}

const idOf = (item: object): string => {
  const { id, keyId, overrideId, migrationId } = item as { id?: string; keyId?: string; overrideId?: string; migrationId?: string };
  return keyId ?? overrideId ?? migrationId ?? id ?? "";
};

const lists: readonly List[] = [
  {
    procedure: "apis.listKeys",
    open: async (run) => {
      const apiId = await run.createApi();
      return {
        body: { apiId },
        create: () => run.data("keys.createKey", { apiId }),
        remove: (keyId) => run.data("keys.deleteKey", { keyId, permanent: keyId < "key_2" }),
      };
    },
  },
  {
    procedure: "apis.listKeys",
    open: async (run) => {
      const [apiId, externalId] = [await run.createApi(), run.unique("user")];
      return {
        body: { apiId, externalId },
        create: async () => {
          await run.data("keys.createKey", { apiId });
          return run.data("keys.createKey", { apiId, externalId });
        },
        // It leaves the list without being deleted.
        remove: (keyId) => run.data("keys.updateKey", { keyId, externalId: null }),
      };
    },
  },
  {
    procedure: "identities.listIdentities",
    open: async (run) => {
      const search = `${run.unique("identity")}.`;
      return {
        body: { search },
        create: () => run.data("identities.createIdentity", { externalId: run.unique(search) }),
        remove: (identity) => run.data("identities.deleteIdentity", { identity }),
      };
    },
  },
  {
    procedure: "permissions.listPermissions",
    open: async (run) => {
      const search = `${run.unique("permission")}.`;
      return {
        body: { search },
        create: () => run.data("permissions.createPermission", { name: search, slug: run.unique(search) }),
        remove: (permission) => run.data("permissions.deletePermission", { permission }),
      };
    },
  },
  {
    procedure: "permissions.listRoles",
    open: async (run) => {
      const search = `${run.unique("role")}.`;
      return {
        body: { search },
        create: () => run.data("permissions.createRole", { name: run.unique(search), permissions: [search] }),
        remove: (role) => run.data("permissions.deleteRole", { role }),
      };
    },
  },
  {
    procedure: "ratelimit.listOverrides",
    open: async (run) => {
      const namespace = run.unique("namespace");
      const limit = { namespace, limit: 1, duration: 60_000 };
      await run.data("ratelimit.limit", { ...limit, identifier: "anyone" });
      const identifiers = new Map<unknown, string>();
      return {
        body: { namespace },
        create: async () => {
          const identifier = run.unique("user");
          identifiers.set((await run.data("ratelimit.setOverride", { ...limit, identifier })).overrideId, identifier);
        },
        remove: (id) => run.data("ratelimit.deleteOverride", { namespace, identifier: identifiers.get(id) }),
      };
    },
  },
  {
    procedure: "rootKeys.listKeys",
    shared: true,
    open: async (run) => ({
      body: {},
      create: () => run.data("rootKeys.createKey", { permissions: ["api.*.read_api"] }),
      remove: (keyId) => run.data("rootKeys.deleteKey", { keyId }),
    }),
  },
  {
    procedure: "apis.listApis",
    newestFirst: true,
    open: async (run) => {
      const search = `${run.unique("api")}.`;
      return {
        body: { search },
        create: () => run.data("apis.createApi", { name: search.toUpperCase() }),
        remove: (apiId) => run.data("apis.deleteApi", { apiId }),
      };
    },
  },
  {
    procedure: "ratelimit.listNamespaces",
    newestFirst: true,
    open: async (run) => {
      const search = `${run.unique("namespace")}.`;
      return {
        body: { search },
        create: () => run.data("ratelimit.limit", { namespace: run.unique(search), identifier: "user", limit: 1, duration: 60_000 }),
        remove: (namespace) => run.data("ratelimit.deleteNamespace", { namespace }),
      };
    },
  },
  {
    procedure: "migrations.listMigrations",
    shared: true,
    open: async (run) => ({
      body: {},
      create: () => run.data("migrations.createMigration", { algorithm: "sha256" }),
      remove: (migrationId) => run.data("migrations.deleteMigration", { migrationId }),
    }),
  },
];

/** The changes between two pages: the number of new objects, and the positions, among all that live, of those to remove. */
const step = fc.record({ made: fc.nat(3), removed: fc.array(fc.nat(20), { maxLength: 3 }), sibling: fc.boolean() });

everywhere(
  (run) => {
    test.each(lists)(
      "[protocol §10] $procedure (row %$): what exists throughout appears exactly once while others come and go",
      async ({ procedure, open, shared, newestFirst }) => {
        await fc.assert(
          fc.asyncProperty(
            fc.nat(12),
            fc.integer({ min: 1, max: 5 }),
            fc.array(step, { maxLength: 6 }),
            async (initially, limit, steps) => {
              const { body, create, remove } = await open(run);
              // Not every list takes an empty cursor for none (management §3).
              const page = async ({ limit, cursor }: { limit: number; cursor?: string }) => {
                const answer = await run.call(procedure, { ...body, limit, ...(cursor && { cursor }) });
                expect(answer.status).toBe(200);
                return { ids: (answer.body.data as object[]).map(idOf), pagination: answer.body.pagination };
              };
              const others = (await page({ limit: 100 })).ids;
              expect(shared ?? others.length === 0).toBe(true);
              for (let i = 0; i < initially; i++) await create();
              const before = (await page({ limit: 100 })).ids;
              expect(before).toHaveLength(others.length + initially);
              const live = async () => (await page({ limit: 100 })).ids.filter((id) => !others.includes(id));
              const removed = new Set<string>();
              const seen: string[] = [];
              const waiting = [...steps];
              for (let cursor: string | undefined = ""; cursor !== undefined; ) {
                const { ids, pagination } = await page({ limit, cursor });
                expect(ids.length).toBeLessThanOrEqual(limit);
                for (const id of ids) expect(removed).not.toContain(id);
                seen.push(...ids);
                expect(Object.hasOwn(pagination ?? {}, "cursor")).toBe(pagination?.hasMore);
                cursor = pagination?.cursor;
                const next = waiting.shift();
                if (cursor === undefined || next === undefined) continue;
                for (let i = 0; i < next.made; i++) await create();
                const present = await live();
                // The row that a cursor names goes, too, every now and then.
                const places = next.sibling ? [present.indexOf(cursor.split(".", 1)[0] ?? ""), ...next.removed] : next.removed;
                for (const id of new Set(places.flatMap((place) => present[place] ?? []))) {
                  await remove(id);
                  removed.add(id);
                }
              }
              const ascending = [...new Set(seen)].sort();
              expect(seen).toEqual(newestFirst ? ascending.reverse() : ascending);
              expect(before.filter((id) => !removed.has(id)).filter((id) => !seen.includes(id))).toEqual([]);
              if (shared) for (const id of await live()) await remove(id);
            },
          ),
          { numRuns: sized(4, 24) },
        );
      },
    );

    test("[protocol §10] the cursor of any list is a position or 400 in any other, never 5xx", async () => {
      const opened = await Promise.all(lists.map(async ({ procedure, open }) => ({ procedure, ...(await open(run)) })));
      for (const { create } of opened) for (let i = 0; i < 2; i++) await create();
      const cursors = await Promise.all(
        opened.map(
          async ({ procedure, body }) => (await run.call(procedure, { ...body, limit: 1 })).body.pagination?.cursor ?? expect.unreachable(),
        ),
      );
      for (const cursor of cursors) {
        for (const { procedure, body } of opened) expect([200, 400]).toContain((await run.call(procedure, { ...body, cursor })).status);
      }
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: codePoint, maxLength: 40 }), fc.constantFrom(...opened), async (cursor, { procedure, body }) => {
          expect([200, 400]).toContain((await run.call(procedure, { ...body, cursor })).status);
        }),
        { numRuns: sized(20, 120) },
      );
    });
  },
  ["v2"],
);

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  /** Done right after the next page of keys was read, once. */
  let ambush: (() => Promise<unknown>) | undefined;
  const intercept: Intercept = async (operation, { collection, name }) => {
    const result = await operation();
    if (collection === "keys" && name === "find" && ambush) {
      const act = ambush;
      ambush = undefined;
      await act();
    }
    return result;
  };
  beforeAll(async () => {
    const env = { ENCRYPTION_KEYS: `first:${Buffer.alloc(32, 7).toString("base64")}` };
    api = await startApi(engine, { store: interceptStore(await engine.open(), intercept), env });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });
  const data = async (procedure: string, body: object) =>
    dataOf((await api.edges[0]?.call(procedure, body, api.rootKey)) ?? expect.unreachable());

  test.each([false, true])(
    "[apis listKeys] a key that is deleted while its page is decrypted (for good: %s) is left out",
    async (permanent) => {
      const { apiId } = await data("apis.createApi", { name: "raced" });
      const [gone, stays] = [
        await data("keys.createKey", { apiId, recoverable: true }),
        await data("keys.createKey", { apiId, recoverable: true }),
      ];
      ambush = () => data("keys.deleteKey", { keyId: gone.keyId, permanent });
      const listed = await data("apis.listKeys", { apiId, decrypt: true });
      expect(listed).toMatchObject([{ keyId: stays.keyId, plaintext: stays.key }]);
      expect(listed).toHaveLength(1);
    },
  );
});
