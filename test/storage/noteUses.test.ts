import { afterAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { createRootKeysRepository } from "../../src/features/rootKeys/rootKeysRepository.ts";
import type { RootKeyDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { engines } from "../support/stores.ts";

const DAY = 86_400_000;

const rootKey = (id: string, fields: Partial<RootKeyDocument> = {}): RootKeyDocument => ({
  ...newDocument(id, 1, []),
  ...{ hash: id, start: "s", end: "e", enabled: true },
  ...fields,
});

describe.each(engines)("on $name", (engine) => {
  afterAll(() => engine.close());

  const usesIn = async (store: Store): Promise<Record<string, Record<string, number>>> => {
    const found = await store.collection("rootKeys").find({}).toArray();
    const usesOf = ({ usedPermissions = [] }: RootKeyDocument) =>
      Object.fromEntries(usedPermissions.map(({ permission, lastUsedAt }) => [permission, lastUsedAt]));
    return Object.fromEntries(found.map((each) => [each._id, usesOf(each)]));
  };

  test("[management §5] uses of many root keys are one read, one write, and one read that finds nothing left to do", async () => {
    const operations: string[] = [];
    const store = interceptStore(await engine.open(), (operation, { collection, name }) => {
      if (collection === "rootKeys") operations.push(name);
      return operation();
    });
    const ids = Array.from({ length: 50 }, (_, i) => `rk_${i}`);
    await store.collection("rootKeys").insertMany(ids.map((id) => rootKey(id, id === "rk_7" ? { deletedAt: 1 } : {})));
    operations.length = 0;
    const rootKeys = createRootKeysRepository(store);
    const uses = new Map([...ids, "rk_unknown"].map((id) => [id, new Map([["api.*.read_api", 5]])]));
    await rootKeys.noteUses(uses);
    expect(operations).toEqual(["find", "bulkWrite", "find"]);
    await rootKeys.noteUses(uses);
    expect(operations.slice(3)).toEqual(["find"]);
    const known = await usesIn(store);
    for (const id of ids) expect([id, known[id]]).toEqual([id, id === "rk_7" ? {} : { "api.*.read_api": 5 }]);
    expect(Object.keys(known)).not.toContain("rk_unknown");
  });

  test("[management §5] nodes that note uses of the same root keys at once lose none", async () => {
    const store = await engine.open();
    const nodes = [store, await engine.openBeside(store), await engine.openBeside(store)].map((each) => createRootKeysRepository(each));
    const ids = ["rk_a", "rk_b", "rk_c"];
    await store.collection("rootKeys").insertMany(ids.map((id) => rootKey(id)));
    const notes = nodes.flatMap((node, n) =>
      Array.from({ length: 5 }, (_, i) =>
        node.noteUses(
          new Map(
            ids.map((id) => [
              id,
              new Map([
                [`own.${n}.${i}`, 10 * DAY],
                ["shared", 10 * DAY + 10 * n + i],
              ]),
            ]),
          ),
        ),
      ),
    );
    await Promise.all(notes);
    const own = nodes.flatMap((_, n) => Array.from({ length: 5 }, (__, i) => [`own.${n}.${i}`, 10 * DAY]));
    const want = { ...Object.fromEntries(own), shared: 10 * DAY + 24 };
    expect(await usesIn(store)).toEqual(Object.fromEntries(ids.map((id) => [id, want])));
  });

  test("[management §5] nothing is begun once the signal is aborted", async () => {
    const store = await engine.open();
    await store.collection("rootKeys").insertOne(rootKey("rk_a"));
    const signal = AbortSignal.abort(new Error("too late"));
    const noted = createRootKeysRepository(store).noteUses(new Map([["rk_a", new Map([["p", 1]])]]), { signal });
    await expect(noted).rejects.toThrow("too late");
    expect(await usesIn(store)).toEqual({ rk_a: {} });
  });
});
