import { describe, expect, test } from "vitest";
import { WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import { type Collection, containsText, type Filter, type FindOptions } from "../../../src/platform/storage/port/collection.ts";
import type { KeyDocument } from "../../../src/platform/storage/port/documents.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { sampleCounter, sampleKey, unique } from "./samples.ts";

/** How documents are found. */
export const testFilters = (open: () => Store): void => {
  const keys = (): Collection<KeyDocument> => open().collection("keys");
  /** Names of the keys of one API that a filter finds. */
  const found = async (apiId: string, filter: Filter<KeyDocument>, options?: FindOptions<KeyDocument>): Promise<(string | undefined)[]> =>
    (
      await keys()
        .find({ apiId, ...filter }, { sort: { _id: 1 }, ...options })
        .toArray()
    ).map(({ name }) => name);
  const fill = async (...fields: Partial<KeyDocument>[]): Promise<string> => {
    const apiId = unique("api");
    await keys().insertMany(fields.map((own) => sampleKey({ apiId, ...own })));
    return apiId;
  };

  describe("filters", () => {
    test("an empty filter finds every document", async () => {
      await keys().insertOne(sampleKey());
      expect(await keys().findOne({})).not.toBeNull();
    });

    test("a filter without matches gives null, or an empty list", async () => {
      expect(await keys().findOne({ _id: "missing" })).toBeNull();
      expect(await keys().find({ _id: "missing" }).toArray()).toEqual([]);
    });

    test("a document comes back as it was stored", async () => {
      const key = sampleKey({
        name: 'ä "quoted" \\ \u0000 \u{1F511} \u2028',
        meta: '{"$set":1,"a.b":null,"__proto__":[{}]}',
        remaining: 2 ** 53 - 1,
        expires: 2 ** 31,
        refill: { interval: "monthly", amount: 3, refillDay: 31 },
        ratelimits: [{ id: "rl_1", name: "a", limit: 10, duration: 60_000, autoApply: true }],
        permissionIds: ["b", "a"],
        enabled: false,
        lastUsedAt: -1,
      });
      await keys().insertOne(key);
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
      expect(await keys().find({ _id: key._id }).toArray()).toEqual([key]);
    });

    test("a large document comes back as it was stored", async () => {
      const key = sampleKey({ meta: JSON.stringify({ text: "x".repeat(200_000) }) });
      await keys().insertOne(key);
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
    });

    test("an undefined field is absent", async () => {
      const key = { ...sampleKey(), name: undefined };
      await keys().insertOne(key as unknown as KeyDocument);
      expect(await keys().findOne({ _id: key._id })).not.toHaveProperty("name");
      expect(await keys().findOne({ _id: key._id, name: { $exists: true } })).toBeNull();
    });

    test("all conditions must hold", async () => {
      const api = await fill({ name: "a", enabled: true }, { name: "b", enabled: false });
      expect(await found(api, { name: "a", enabled: true })).toEqual(["a"]);
      expect(await found(api, { name: "a", enabled: false })).toEqual([]);
    });

    test("text is equal only to the same text, by its case too", async () => {
      const api = await fill({ name: "a" }, { name: "A" }, { name: "1" }, { name: "a " }, { name: "[]" }, {});
      expect(await found(api, { name: "a" })).toEqual(["a"]);
      expect(await found(api, { name: "[]" })).toEqual(["[]"]);
      expect(await found(api, { name: 1 as unknown as string })).toEqual([]);
    });

    test("a number is equal only to the same number", async () => {
      const api = await fill(
        { name: "one", remaining: 1 },
        { name: "none" },
        { name: "big", remaining: 2 ** 40 },
        { name: "half", remaining: 0.5 },
      );
      expect(await found(api, { remaining: 1 })).toEqual(["one"]);
      expect(await found(api, { remaining: 2 ** 40 })).toEqual(["big"]);
      expect(await found(api, { remaining: 0.5 })).toEqual(["half"]);
      expect(await found(api, { remaining: 0 })).toEqual([]);
      expect(await found(api, { remaining: "1" as unknown as number })).toEqual([]);
      expect(await found(api, { remaining: true as unknown as number })).toEqual([]);
    });

    test("a boolean is equal only to itself, not to 0 or 1", async () => {
      const api = await fill({ name: "on", enabled: true }, { name: "off", enabled: false });
      expect(await found(api, { enabled: true })).toEqual(["on"]);
      expect(await found(api, { enabled: false })).toEqual(["off"]);
      expect(await found(api, { enabled: 1 as unknown as boolean })).toEqual([]);
    });

    test("$in finds each of its values, and nothing when it is empty", async () => {
      const api = await fill({ name: "a", remaining: 1 }, { name: "b", remaining: 2 }, { name: "c" }, {});
      expect(await found(api, { name: { $in: ["c", "a", "x"] } })).toEqual(["a", "c"]);
      expect(await found(api, { remaining: { $in: [2, 3] } })).toEqual(["b"]);
      expect(await found(api, { enabled: { $in: [false] } })).toEqual([]);
      expect(await found(api, { name: { $in: [] } })).toEqual([]);
      expect(
        await keys()
          .find({ _id: { $in: [] } })
          .toArray(),
      ).toEqual([]);
    });

    test("ranges compare numbers with numbers only", async () => {
      const api = await fill({ name: "1", remaining: 1 }, { name: "2", remaining: 2 }, { name: "3", remaining: 3 }, { name: "none" });
      expect(await found(api, { remaining: { $gt: 1 } })).toEqual(["2", "3"]);
      expect(await found(api, { remaining: { $gte: 2, $lt: 3 } })).toEqual(["2"]);
      expect(await found(api, { remaining: { $lte: 2 } })).toEqual(["1", "2"]);
      expect(await found(api, { remaining: { $gte: "" as unknown as number } })).toEqual([]);
      expect(await found(api, { remaining: { $lt: "z" as unknown as number } })).toEqual([]);
    });

    test("ranges order text by its bytes", async () => {
      const api = await fill({ name: "B" }, { name: "a" }, { name: "ab" }, { name: "é" }, { name: "\u{1F511}" }, { name: "\uFFFD" });
      expect(await found(api, { name: { $gt: "a" } }, { sort: { name: 1 } })).toEqual(["ab", "é", "\uFFFD", "\u{1F511}"]);
      expect(await found(api, { name: { $lte: "a" } }, { sort: { name: 1 } })).toEqual(["B", "a"]);
      expect(await found(api, { name: { $gt: 0 as unknown as string } })).toEqual([]);
    });

    test("$exists tells whether the field is there", async () => {
      const api = await fill({ name: "a", remaining: 0 }, { name: "b" }, { name: "c", refill: { interval: "daily", amount: 1 } });
      expect(await found(api, { remaining: { $exists: true } })).toEqual(["a"]);
      expect(await found(api, { remaining: { $exists: false } })).toEqual(["b", "c"]);
      expect(await found(api, { refill: { $exists: true } })).toEqual(["c"]);
      expect(await found(api, { ratelimits: { $exists: true } })).toEqual(["a", "b", "c"]);
    });

    test("$or holds when one of its members does, in addition to the other conditions", async () => {
      const api = await fill({ name: "a", remaining: 1 }, { name: "b", remaining: 2 }, { name: "c", remaining: 3 });
      expect(await found(api, { $or: [{ name: "a" }, { remaining: { $gt: 2 }, enabled: true }] })).toEqual(["a", "c"]);
      expect(await found(api, { remaining: 1, $or: [{ name: "b" }, { name: "c" }] })).toEqual([]);
      expect(await found(api, { $or: [{ $or: [{ name: "b" }] }] })).toEqual(["b"]);
    });

    test("$or needs at least one member", async () => {
      await expect(keys().findOne({ $or: [] })).rejects.toThrow();
    });

    test("an undefined condition is refused, never left out", async () => {
      const nothing = undefined as unknown as string;
      await expect(keys().findOne({ _id: nothing })).rejects.toThrow(TypeError);
      await expect(
        keys()
          .find({ $or: [{ hash: nothing }] })
          .toArray(),
      ).rejects.toThrow(TypeError);
      await expect(keys().deleteMany({ _id: nothing })).rejects.toThrow(TypeError);
      await expect(keys().updateOne({ _id: nothing }, { $set: { name: "x" } })).rejects.toThrow(TypeError);
    });

    test("containsText matches literally, anywhere, by case", async () => {
      const names = ["a.b", "axb", "(x", "\\d", "1", "^a$", "x\\x00y", "nul\u0000nul", "[a]{1}|*+?"];
      const api = await fill(...names.map((name) => ({ name })), {});
      expect(await found(api, { name: containsText("a.b") })).toEqual(["a.b"]);
      expect(await found(api, { name: containsText("X") })).toEqual([]);
      expect(await found(api, { name: containsText("(") })).toEqual(["(x"]);
      expect(await found(api, { name: containsText("\\d") })).toEqual(["\\d"]);
      expect(await found(api, { name: containsText("^a$") })).toEqual(["^a$"]);
      expect(await found(api, { name: containsText("\\x00") })).toEqual(["x\\x00y"]);
      expect(await found(api, { name: containsText("l\u0000n") })).toEqual(["nul\u0000nul"]);
      expect(await found(api, { name: containsText("[a]{1}|*+?") })).toEqual(["[a]{1}|*+?"]);
      expect((await found(api, { name: containsText("") })).length).toBe(names.length);
    });
  });

  describe("order and limit", () => {
    test("sorts by several fields, each in its direction; a missing value comes first", async () => {
      const api = await fill(
        { name: "c", remaining: 1 },
        { name: "a", remaining: 2 },
        { name: "b", remaining: 1 },
        { name: "n" },
        { name: "d", remaining: 10 },
      );
      expect(await found(api, {}, { sort: { remaining: 1, name: -1 } })).toEqual(["n", "c", "b", "a", "d"]);
      expect(await found(api, {}, { sort: { remaining: -1, name: 1 } })).toEqual(["d", "a", "b", "c", "n"]);
    });

    test("pages by id", async () => {
      const api = unique("api");
      const ids = ["key_a", "key_B", "key_0", "key_aa", "key_Z"].map((id) => `${api}${id}`);
      await keys().insertMany(ids.map((_id) => sampleKey({ _id, apiId: api })));
      const sorted = [...ids].sort();
      const pages: string[] = [];
      for (let after = ""; ; ) {
        const page = await keys()
          .find({ apiId: api, _id: { $gt: after } }, { sort: { _id: 1 }, limit: 2 })
          .toArray();
        pages.push(...page.map(({ _id }) => _id));
        if (page.length < 2) break;
        after = page.at(-1)?._id ?? "";
      }
      expect(pages).toEqual(sorted);
    });

    test("findOne takes the first in the order", async () => {
      const api = await fill({ name: "b" }, { name: "c" }, { name: "a" });
      expect(await keys().findOne({ apiId: api }, { sort: { name: -1 } })).toMatchObject({ name: "c" });
    });

    test("more documents than a batch of the server come back", async () => {
      const api = await fill(...Array.from({ length: 450 }, (_, position) => ({ remaining: position })));
      expect(await found(api, {})).toHaveLength(450);
      expect(await found(api, {}, { limit: 333 })).toHaveLength(333);
    });
  });

  describe("finds of many documents", () => {
    /** In the order of their bytes, which is not that of UTF-16. */
    const odd = ["\u{1F511}", "\uFFFD", "é", "z", "a", ""];
    const many = Array.from({ length: 1_300 }, (_, i) => `${odd[i % odd.length]}${unique("many")}`);

    test("have each document once, whatever they are found by and whatever its id", async () => {
      const apiId = unique("api");
      await keys().insertMany(many.map((_id) => sampleKey({ _id, apiId, hash: `hash ${_id}` })));
      const expected = [...many].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const listed = { $in: [...many, "missing"] };
      const hashes = { workspaceId: WORKSPACE_ID, hash: { $in: ["missing", ...many.map((_id) => `hash ${_id}`)] } };
      for (const filter of [{ apiId }, { _id: listed }, hashes] as Filter<KeyDocument>[]) {
        const all = (await keys().find(filter).toArray()).map(({ _id }) => _id);
        expect(all.sort()).toEqual([...many].sort());
      }
      for (const filter of [{ apiId }, { _id: listed }] as Filter<KeyDocument>[]) {
        const ascending = await keys()
          .find(filter, { sort: { _id: 1 } })
          .toArray();
        expect(ascending.map(({ _id }) => _id)).toEqual(expected);
        const descending = await keys()
          .find(filter, { sort: { _id: -1 }, limit: 1_200 })
          .toArray();
        expect(descending.map(({ _id }) => _id)).toEqual(expected.toReversed().slice(0, 1_200));
        const between = { ...filter, _id: { ...(filter._id as object), $gt: expected[10] as string, $lte: expected[1_200] as string } };
        const some = await keys()
          .find(between, { sort: { _id: 1 } })
          .toArray();
        expect(some.map(({ _id }) => _id)).toEqual(expected.slice(11, 1_201));
      }
    });

    test("have those without the field that they are sorted by", async () => {
      const apiId = unique("api");
      const { hash: _, ...bare } = sampleKey({ apiId });
      await keys().insertMany([...Array.from({ length: 600 }, () => ({ ...bare, _id: unique("bare") })), sampleKey({ apiId })]);
      const sorted = await keys()
        .find({ workspaceId: WORKSPACE_ID, apiId }, { sort: { hash: 1 } })
        .toArray();
      expect(new Set(sorted.map(({ _id }) => _id)).size).toBe(601);
      expect(sorted.at(-1)).toHaveProperty("hash");
    });

    test("of large documents are complete, up to their limit", async () => {
      const apiId = unique("api");
      const large = Array.from({ length: 9 }, () => sampleKey({ apiId, meta: "x".repeat(400_000) }));
      await keys().insertMany(large);
      const ids = large.map(({ _id }) => _id);
      expect(
        await keys()
          .find({ apiId }, { sort: { _id: 1 }, limit: 7 })
          .toArray(),
      ).toEqual(large.slice(0, 7));
      expect(
        (
          await keys()
            .find({ _id: { $in: ids } })
            .toArray()
        ).map(({ _id }) => _id),
      ).toEqual(ids);
      expect(await keys().find({ apiId }, { limit: 9 }).toArray()).toHaveLength(9);
    });

    test("end when their signal is aborted", async () => {
      const controller = new AbortController();
      const cut = keys().find({ apiId: "nobody's" }, { sort: { _id: 1 }, signal: controller.signal });
      controller.abort(new Error("gone"));
      await expect(cut.toArray()).rejects.toThrow("gone");
    });
  });

  test("findFields gives ids and the fields that were asked for, where they are", async () => {
    const apiId = unique("api");
    const [first, second] = [sampleKey({ apiId, remaining: 5 }), sampleKey({ apiId, identityId: "id_1", deletedAt: 7 })];
    await keys().insertMany([first, second]);
    const by = { sort: { _id: 1 } } as const;
    expect(await keys().findFields([], { apiId }, by)).toEqual([{ _id: first._id }, { _id: second._id }]);
    expect(await keys().findFields(["identityId", "deletedAt", "remaining"], { apiId }, { ...by, limit: 2 })).toEqual([
      { _id: first._id, remaining: 5 },
      { _id: second._id, identityId: "id_1", deletedAt: 7 },
    ]);
    expect(await keys().findFields(["hash"], { _id: { $in: [second._id, "missing"] } })).toEqual([{ _id: second._id, hash: second.hash }]);
    expect(await keys().findFields([], { _id: "missing" })).toEqual([]);
  });

  test("a Date comes back as a Date and compares as one", async () => {
    const counters = open().collection("counters");
    const counter = sampleCounter({ expireAt: new Date(7_000_000_000_123) });
    await counters.insertOne(counter);
    expect(await counters.findOne({ _id: counter._id })).toEqual(counter);
    expect(await counters.findOne({ _id: counter._id, expireAt: counter.expireAt })).toEqual(counter);
    expect(await counters.findOne({ _id: counter._id, expireAt: { $lt: counter.expireAt } })).toBeNull();
    expect(await counters.findOne({ _id: counter._id, expireAt: { $gt: new Date(7_000_000_000_122) } })).toEqual(counter);
  });
};
