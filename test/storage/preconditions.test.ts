import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { createApisRepository } from "../../src/features/apis/apisRepository.ts";
import { createKeysRepository } from "../../src/features/keys/keysRepository.ts";
import { createOverridesRepository } from "../../src/features/ratelimit/overridesRepository.ts";
import { createPrecondition, revisionDiffers, tagOf } from "../../src/platform/base/revisions.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { engines } from "../support/stores.ts";
import { sampleKey } from "./contract/samples.ts";

const rename = (name: string) => () => ({ update: { $set: { name } }, events: [] });

describe.each(engines)("changes under a precondition on $name", (engine) => {
  let store: Store;
  let key: KeyDocument;
  beforeEach(async () => {
    store = await engine.open();
    key = sampleKey({});
    await store.collection("keys").insertOne(key);
  });
  afterAll(() => engine.close());

  const current = async (): Promise<KeyDocument> => (await store.collection("keys").findOne({ _id: key._id })) ?? expect.unreachable();

  /** The same store with a rival that changes the key between a read and its write, this number of times. */
  const rivalled = (times: number): Store => {
    let left = times;
    return interceptStore(store, async (operation, { collection, name }) => {
      if (collection === "keys" && name !== "findOne" && left-- > 0) await createKeysRepository(store).modify(key._id, rename("rival"));
      return operation();
    });
  };

  // One that sets a balance is written in another way, since credits may be spent meanwhile.
  test.each([{ name: "mine" }, { name: "mine", remaining: 7 }])("a change that sets %j resolves to the key after it", async ($set) => {
    const keys = createKeysRepository(store);
    const after = await keys.modify(key._id, () => ({ update: { $set, $unset: { meta: "" } }, events: [] }));
    expect(after).toEqual(await current());
    expect(after).toMatchObject({ ...$set, revision: (key.revision ?? 0) + 1 });
    expect(await keys.modify(key._id, () => undefined)).toEqual(after);
  });

  test.each(["delete", "erase", "modify"] as const)("[management §2] %s does nothing when another caller was faster", async (name) => {
    const keys = createKeysRepository(rivalled(1));
    const precondition = createPrecondition(new Set([tagOf(key)]));
    const change = name === "modify" ? keys.modify(key._id, rename("mine"), { precondition }) : keys[name](key, 1, [], { precondition });
    await expect(change).rejects.toThrow(revisionDiffers(key).message);
    const after = await current();
    expect([after.name, after.deletedAt, after.revision]).toEqual(["rival", undefined, key.revision + 1]);
  });

  test.each(["delete", "erase"] as const)(
    "[management §2] %s of any revision deletes however often another caller is faster",
    async (name) => {
      const precondition = createPrecondition("any");
      expect(await createKeysRepository(rivalled(3))[name](key, 1, [], { precondition })).toBe(true);
      expect((await current()).deletedAt).toBe(1);
      expect(await createKeysRepository(store)[name](key, 1, [], { precondition })).toBe(false);
    },
  );

  test("[management §2] a quiet change is a revision for earlier decisions, and none for clients' ETags", async () => {
    const keys = createKeysRepository(store);
    await keys.modify(key._id, () => ({ ...rename("quiet")(), quiet: true }));
    const after = await current();
    expect([after.revision, tagOf(after)]).toEqual([key.revision + 1, tagOf(key)]);
    await keys.modify(key._id, rename("mine"), { precondition: createPrecondition(new Set([tagOf(key)])) });
    expect(tagOf(await current())).not.toBe(tagOf(key));
  });

  test("[management §2] spending credits and marking a key as used change no tag", async () => {
    const keys = createKeysRepository(store);
    await store.collection("keys").updateOne({ _id: key._id }, { $set: { remaining: 5 } });
    await keys.spend(key._id, 2);
    await keys.markUsed(new Map([[key._id, 7]]));
    const after = await current();
    expect([after.remaining, after.lastUsedAt, tagOf(after)]).toEqual([3, 7, tagOf(key)]);
  });

  test("[management §2] a protected API is not deleted under any precondition", async () => {
    const apis = createApisRepository(store);
    await apis.insert({ id: "api_1", name: "one" }, 1, []);
    await apis.modify("api_1", () => ({ update: { $set: { protected: true } }, events: [] }));
    expect(await apis.delete("api_1", 2, [], { precondition: createPrecondition("any") })).toBe(false);
    expect(await apis.delete("api_1", 2, [])).toBe(false);
    expect(await apis.find("api_1")).toMatchObject({ protected: true });
  });

  test("[management §2] an override that is deleted while it is set is not created again", async () => {
    const settings = { namespaceId: "rlns_1", identifier: "user", limit: 1, duration: 1_000 };
    const overrides = createOverridesRepository(store);
    await overrides.set(settings, "rlor_1", 1, () => []);
    const found = (await overrides.find("rlns_1", "user")) ?? expect.unreachable();
    let deleted = false;
    const beside = interceptStore(store, async (operation, { collection, name }) => {
      if (collection === "overrides" && name === "findOneAndUpdate" && !deleted) {
        deleted = true;
        await overrides.delete(found, 2, []);
      }
      return operation();
    });
    const precondition = createPrecondition("any");
    const set = createOverridesRepository(beside).set({ ...settings, limit: 2 }, "rlor_2", 3, () => [], { precondition });
    await expect(set).rejects.toThrow(expect.objectContaining({ reason: "revision_differs" }));
    expect(await overrides.find("rlns_1", "user")).toBeNull();
  });
});
