import { describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { createId } from "../../../src/platform/base/ids.ts";
import { newDocument } from "../../../src/platform/storage/repositories/shared/audited.ts";
import { dataOf, expectError, startApi } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { engines } from "../../support/stores.ts";

/** One of the two lists, and how its objects come and go. */
interface List {
  readonly procedure: string;
  readonly action: (id: string) => string;
  /** Resolves to the id. */
  readonly create: (run: Run, name: string) => Promise<string>;
  readonly remove: (run: Run, id: string) => Promise<unknown>;
}

const lists: readonly List[] = [
  {
    procedure: "apis.listApis",
    action: (id) => `api.${id}.read_api`,
    create: async (run, name) => (await run.data("apis.createApi", { name })).apiId as string,
    remove: (run, apiId) => run.data("apis.deleteApi", { apiId }),
  },
  {
    procedure: "ratelimit.listNamespaces",
    action: (id) => `ratelimit.${id}.read_namespace`,
    create: async (run, name) => {
      await run.data("ratelimit.limit", { namespace: name, identifier: "user", limit: 1, duration: 60_000 });
      const found = await run.api.store.collection("namespaces").findOne({ workspaceId: "ws_default", name });
      return found?._id ?? expect.unreachable();
    },
    remove: (run, namespace) => run.data("ratelimit.deleteNamespace", { namespace }),
  },
];

interface Item {
  readonly id: string;
  readonly name: string;
}

const expectInvalid = (answer: Parameters<typeof expectError>[0], location: string): void =>
  expect(expectError(answer, 400, "unkey/application/invalid_input").errors?.map((each) => each.location)).toEqual([location]);

everywhere((run) => {
  describe.each(lists)("$procedure", ({ procedure, action, create, remove }) => {
    const section = procedure.startsWith("apis") ? "§2" : "§3";
    const page = async (body: object, rootKey?: string) => {
      const answer = await run.call(procedure, body, rootKey);
      return { items: dataOf(answer) as unknown as Item[], pagination: answer.body.pagination };
    };
    const namesOf = async (body: object, rootKey?: string) => (await page(body, rootKey)).items.map(({ name }) => name);
    /** So many objects, the last made first in the list. */
    const createMany = async (stem: string, count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let i = 0; i < count; i++) {
        // Two objects of one millisecond have no order of age.
        await new Promise((resolve) => setTimeout(resolve, 2));
        ids.push(await create(run, `${stem}-${i}`));
      }
      return ids;
    };

    test(`[management ${section}] the newest come first, page by page, and what is deleted does not come`, async () => {
      const stem = run.unique("listed");
      const ids = await createMany(stem, 4);
      await remove(run, ids[1] as string);
      const first = await page({ search: stem, limit: 2 });
      expect(first.items.map(({ id }) => id)).toEqual([ids[3], ids[2]]);
      expect(first.pagination).toEqual({ hasMore: true, cursor: expect.stringMatching(/^.{1,1024}$/) });
      const last = await page({ search: stem, limit: 2, cursor: first.pagination?.cursor });
      expect(last.items.map(({ id }) => id)).toEqual([ids[0]]);
      expect(last.pagination).toEqual({ hasMore: false });
      expect((await page({ search: stem, limit: 3 })).pagination).toEqual({ hasMore: false });
      expect(await namesOf({ limit: 2 })).toEqual([`${stem}-3`, `${stem}-2`]);
    });

    test(`[management ${section}] an item has id, name and the time of its making`, async () => {
      const name = run.unique("shown");
      const before = Date.now();
      const id = await create(run, name);
      const [item, ...others] = (await page({ search: name })).items;
      expect(others).toEqual([]);
      const settings = procedure.startsWith("apis") ? { deleteProtection: false } : {};
      expect(item).toEqual({ id, name, createdAt: expect.any(Number), ...settings });
      const { createdAt } = item as unknown as { createdAt: number };
      expect(createdAt).toBeGreaterThanOrEqual(before);
      expect(createdAt).toBeLessThanOrEqual(Date.now());
    });

    test(`[management ${section}] only those that the caller may read are listed; without any, the page is empty`, async () => {
      const stem = run.unique("scoped");
      const [first, second, third] = await createMany(stem, 3);
      const some = await run.api.createRootKey({ permissions: [first, third].map((id) => action(id as string)) });
      expect((await page({}, some)).items.map(({ id }) => id)).toEqual([third, first]);
      const one = await page({ limit: 1 }, some);
      expect(one.items.map(({ id }) => id)).toEqual([third]);
      expect((await page({ limit: 1, cursor: one.pagination?.cursor }, some)).items.map(({ id }) => id)).toEqual([first]);
      expect(await namesOf({ search: stem }, some)).toEqual([`${stem}-2`, `${stem}-0`]);
      expect((await page({ search: second }, some)).items).toEqual([]);
      for (const permissions of [
        [],
        [action(first as string).replace(/read_\w+$/, procedure.startsWith("apis") ? "update_api" : "limit")],
      ]) {
        expect(await page({}, await run.api.createRootKey({ permissions }))).toEqual({ items: [], pagination: { hasMore: false } });
      }
      expect(await namesOf({ limit: 1 }, await run.api.createRootKey({ permissions: [action("*")] }))).toEqual([`${stem}-2`]);
    });

    test(`[management ${section}] search finds what id or name contains, in any letter case, and takes nothing as a pattern`, async () => {
      const stem = run.unique("Straße ΣΑΣ");
      const id = await create(run, `${stem} 100%.*`);
      for (const search of ["ΣΑΣ", "σας", "100%.*", "E ΣΑ"]) {
        expect(await namesOf({ search: `${search}` })).toContain(`${stem} 100%.*`);
      }
      for (const search of [id, id.toUpperCase(), id.slice(3, 20).toLowerCase(), `${stem.toUpperCase().replace("SS", "ß")} 100`]) {
        expect((await page({ search })).items.map((item) => item.id)).toEqual([id]);
      }
      for (const search of [`${stem}.100`, `${stem} 100%.*X`, "\u0000", `${id}X`]) expect((await page({ search })).items).toEqual([]);
    });

    test(`[management ${section}] bounds: limit 1 to 100, search up to 256 characters, cursor up to 1024`, async () => {
      for (const limit of [0, 101]) expectInvalid(await run.call(procedure, { limit }), "body.limit");
      for (const limit of [1, 100]) expect((await run.call(procedure, { limit })).status).toBe(200);
      expectInvalid(await run.call(procedure, { search: "😀".repeat(257) }), "body.search");
      for (const search of ["", "😀".repeat(256)]) expect((await run.call(procedure, { search })).status).toBe(200);
      for (const length of [1024, 1025]) expectInvalid(await run.call(procedure, { cursor: "c".repeat(length) }), "body.cursor");
      // The peer's own list takes no empty cursor (management §3), the others do (protocol §10).
      if (procedure === "ratelimit.listNamespaces") expectInvalid(await run.call(procedure, { cursor: "" }), "body.cursor");
      else expect((await run.call(procedure, { cursor: "" })).status).toBe(200);
    });

    test("[protocol §10] a cursor that is damaged, foreign or of another search is 400", async () => {
      const stem = run.unique("cursors");
      await createMany(stem, 2);
      const cursorOf = async (name: string, body: object) =>
        (await run.call(name, { ...body, limit: 1 })).body.pagination?.cursor ?? expect.unreachable();
      const cursor = await cursorOf(procedure, { search: stem });
      expect((await run.call(procedure, { search: stem, cursor, limit: 100 })).status).toBe(200);
      const other = lists.find((list) => list.procedure !== procedure) ?? expect.unreachable();
      for (let i = 0; i < 2; i++) await other.create(run, run.unique(stem));
      const wrong = [
        ["", cursor],
        [`${stem}-`, cursor],
        [stem, await cursorOf(other.procedure, { search: stem })],
        ...[cursor.slice(1), cursor.slice(0, -1), `${cursor}x`, `${cursor} `, cursor.split(".")[0], ".", "x", "😀"].map((text) => [
          stem,
          text,
        ]),
      ];
      for (const [search, text] of wrong) expectInvalid(await run.call(procedure, { search, cursor: text }), "body.cursor");
    });
  });
});

describe.each(engines)("on $name", (engine) => {
  test.each([
    ["apis.listApis", "apis", "api"],
    ["ratelimit.listNamespaces", "namespaces", "rlns"],
  ] as const)("[management §2] a search of %s looks at a thousand objects a page, and says that there are more", async (...names) => {
    const [procedure, collection, prefix] = names;
    let read = 0;
    const store = interceptStore(await engine.open(), async (operation, { collection: of, name }) => {
      const result = await operation();
      if (of === collection && name === "find") read += (result as readonly unknown[]).length;
      return result;
    });
    const api = await startApi(engine, { store });
    try {
      const now = systemClock.now();
      const make = (i: number, name: string) => ({ ...newDocument(createId(prefix, now + i), now + i, []), name });
      const documents = [make(0, "Needle 0"), make(1, "Needle 1"), make(2, "Needle 2")];
      for (let i = 3; i < 1_001; i++) documents.push(make(i, `hay ${i}`));
      await store.collection(collection).insertMany(documents);
      const page = async (body: object) => {
        read = 0;
        const answer = (await api.edges[0]?.call(procedure, body, api.rootKey)) ?? expect.unreachable();
        return { names: (dataOf(answer) as unknown as Item[]).map(({ name }) => name), pagination: answer.body.pagination };
      };
      const search = "needle";
      const first = await page({ search });
      expect(first).toEqual({ names: ["Needle 2", "Needle 1"], pagination: { hasMore: true, cursor: expect.any(String) } });
      expect(read).toBeLessThanOrEqual(1_001);
      expect(await page({ search, cursor: first.pagination?.cursor })).toEqual({ names: ["Needle 0"], pagination: { hasMore: false } });
      await store.collection(collection).insertMany([make(1_001, "hay 1001"), make(1_002, "hay 1002")]);
      const empty = await page({ search, limit: 1 });
      expect(empty).toEqual({ names: [], pagination: { hasMore: true, cursor: expect.any(String) } });
      expect(await page({ search, limit: 2, cursor: empty.pagination?.cursor })).toEqual({
        names: ["Needle 2", "Needle 1"],
        pagination: { hasMore: true, cursor: expect.any(String) },
      });
      await page({ limit: 5 });
      expect(read).toBe(6);
    } finally {
      await api.close();
      await engine.close();
    }
  });
});
