// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { containsText } from "../../../src/platform/storage/port/collection.ts";
import type { PermissionDocument } from "../../../src/platform/storage/port/documents.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { newDocument } from "../../../src/platform/storage/repositories/shared/audited.ts";
import { readPage } from "../../../src/platform/storage/repositories/shared/page.ts";
import { engines } from "../../support/stores.ts";

const ROWS = 12_000;
const idOf = (i: number): string => `perm_${String(i).padStart(5, "0")}`;

/** One in seven is a hit, one in five of all is deleted. */
const permission = (i: number): PermissionDocument => ({
  ...newDocument(idOf(i), 1, []),
  name: "",
  slug: "",
  slugKey: idOf(i),
  search: i % 7 === 0 ? `some NEEDLE ${i}`.toLowerCase() : `hay ${i}`,
  revision: 0,
  ...(i % 5 === 0 ? { deletedAt: 1 } : {}),
});
const hits = Array.from({ length: ROWS }, (_, i) => i)
  .filter((i) => i % 7 === 0 && i % 5 !== 0)
  .map(idOf);

describe.each(engines.filter(({ name }) => name === "embedded"))("a search on the $name store", (engine) => {
  let store: Store;
  beforeAll(async () => {
    store = await engine.open();
    await store.collection("permissions").insertMany(Array.from({ length: ROWS }, (_, i) => permission(i)));
  });
  afterAll(() => engine.close());

  const turns = async <T>(work: () => Promise<T>): Promise<{ result: T; others: number }> => {
    let others = 0;
    let running = true;
    const count = (): void => {
      others++;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    const result = await work();
    running = false;
    return { result, others };
  };

  test.each(["NEEDLE", "nowhere"])(
    "[permissions §1] for %s lets others have their turn, and finds each hit once, in order",
    async (search) => {
      const found: string[] = [];
      const { others } = await turns(async () => {
        for (let cursor: string | undefined = ""; cursor !== undefined; ) {
          const request: { limit: number; cursor: string; search: string } = { limit: 60, cursor, search };
          const page = await readPage(store.collection("permissions"), {}, request, {});
          expect(page.items.length).toBeLessThanOrEqual(60);
          found.push(...page.items.map(({ _id }) => _id));
          cursor = page.next;
        }
      });
      expect(found).toEqual(search === "nowhere" ? [] : hits);
      expect(others).toBeGreaterThan(2);
    },
  );

  test("keeps to the bounds of the ids that it is given, and to its signal", async () => {
    const collection = store.collection("permissions");
    const bounds = { $gt: idOf(700), $lte: idOf(2_100) };
    const some = await collection.find({ _id: bounds, search: containsText("needle") }, { sort: { _id: 1 } }).toArray();
    expect(some.map(({ _id }) => _id)).toEqual(Array.from({ length: 200 }, (_, i) => idOf(707 + 7 * i)));
    const controller = new AbortController();
    const cut = collection.find({ search: containsText("nowhere") }, { sort: { _id: 1 }, signal: controller.signal }).toArray();
    controller.abort(new Error("gone"));
    await expect(cut).rejects.toThrow("gone");
  });
});
