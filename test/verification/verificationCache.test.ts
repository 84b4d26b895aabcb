import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createApisRepository } from "../../src/features/apis/apisRepository.ts";
import { createIdentitiesRepository } from "../../src/features/identities/identitiesRepository.ts";
import { createKeysRepository, type KeysRepository } from "../../src/features/keys/keysRepository.ts";
import { satisfies } from "../../src/features/permissions/permissionQuery.ts";
import { createPermissionsRepository } from "../../src/features/permissions/permissionsRepository.ts";
import { createRolesRepository } from "../../src/features/permissions/rolesRepository.ts";
import { createObjectCaches } from "../../src/features/verification/objectCaches.ts";
import { createVerificationCache, type VerificationCache } from "../../src/features/verification/verificationCache.ts";
import type { VerificationEntry } from "../../src/features/verification/verificationEntry.ts";
import { createId } from "../../src/platform/base/ids.ts";
import { createInvalidations } from "../../src/platform/cache/invalidations.ts";
import { announceWrites } from "../../src/platform/storage/decorators/announceWrites.ts";
import type { KeyDocument, StoredRatelimit } from "../../src/platform/storage/port/documents.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { textOf } from "../../src/platform/util/jsonText.ts";
import { inContact } from "../support/contact.ts";
import { type FaultyStore, faultyStore } from "../support/faultyStore.ts";
import { engines } from "../support/stores.ts";
import { createTestClock, type TestClock } from "../support/testClock.ts";

describe.each(engines)("on $name", (engine) => {
  afterEach(() => engine.close());

  interface Node {
    readonly keys: KeysRepository;
    readonly cache: VerificationCache;
    /** Called for every change on the node that makes it. */
    readonly announce: (ids: readonly string[]) => void;
    readonly hear: (ids: readonly string[]) => void;
  }
  let clock: TestClock;
  let store: FaultyStore;
  let node: Node;

  /** A node that receives no changes of other nodes. */
  const createNode = (): Node => {
    const invalidations = createInvalidations(clock);
    const announce = invalidations.invalidate;
    const announcer = { announce: async (ids: readonly string[]) => announce(ids), forget: announce, doubt: announce };
    const contact = inContact();
    const announcing = announceWrites(store, announcer, clock);
    const keys = createKeysRepository(announcing);
    const objects = createObjectCaches({
      clock,
      invalidations,
      contact,
      apis: createApisRepository(announcing),
      identities: createIdentitiesRepository(announcing),
      roles: createRolesRepository(announcing),
      permissions: createPermissionsRepository(announcing),
      maxBytes: 1_000_000,
    });
    return {
      keys,
      announce,
      hear: invalidations.hear,
      cache: createVerificationCache({ clock, invalidations, contact, keys, objects, maxBytes: 1_000_000, maxGrantBytes: 1_000_000 }),
    };
  };

  beforeEach(async () => {
    clock = createTestClock();
    store = faultyStore(await engine.open());
    node = createNode();
    await store.collection("apis").insertOne({ ...newDocument("api_1", clock.now(), []), name: "api" });
    for (const slug of ["read", "write"]) {
      const permission = { ...newDocument(`perm_${slug}`, clock.now(), []), name: slug, slug, slugKey: slug, revision: 0 };
      await store.collection("permissions").insertOne(permission);
    }
    const role = {
      ...newDocument("role_1", clock.now(), []),
      name: "editor",
      nameKey: "editor",
      permissionIds: ["perm_write"],
      revision: 0,
    };
    await store.collection("roles").insertOne(role);
    const identity = { ...newDocument("id_1", clock.now(), []), externalId: "user", ratelimits: [], revision: 0 };
    await store.collection("identities").insertOne(identity);
  });

  const newKey = (hash: string, fields: Partial<KeyDocument> = {}): KeyDocument => ({
    ...newDocument(createId("key", clock.now()), clock.now(), []),
    apiId: "api_1",
    hash,
    start: "",
    enabled: true,
    permissionIds: ["perm_read"],
    roleIds: ["role_1"],
    identityId: "id_1",
    ratelimits: [],
    revision: 0,
    ...fields,
  });
  const entryOf = async (hash: string, from = node): Promise<VerificationEntry | null> => (await from.cache.get(hash, {})).value;
  const existing = async (hash: string, from = node): Promise<VerificationEntry> => {
    const entry = await entryOf(hash, from);
    if (!entry) expect.unreachable("the key was not found");
    return entry;
  };

  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test("a recently verified key is read from memory, and costs the store nothing", async () => {
    await node.keys.insert(newKey("a"));
    await existing("a");
    const before = store.calls();
    for (let i = 0; i < 10; i++) expect(node.cache.get("a", {})).not.toBeInstanceOf(Promise);
    expect(store.calls()).toBe(before);
  });

  test("a cold key of a warm API, identity and role costs one read", async () => {
    await node.keys.insert(newKey("a"));
    await node.keys.insert(newKey("b"));
    await existing("a");
    const before = store.calls();
    await existing("b");
    expect(store.calls()).toBe(before + 1);
  });

  test("a key in use is read again after 20 seconds, once, with all that it is made of", async () => {
    await node.keys.insert(newKey("a"));
    await existing("a");
    clock.advance(20_000);
    const before = store.calls();
    await existing("a");
    await vi.waitFor(() => expect(store.calls()).toBe(before + 5));
    await settled();
    for (const milliseconds of [0, 19_999]) {
      clock.advance(milliseconds);
      await existing("a");
      await settled();
      expect(store.calls()).toBe(before + 5);
    }
  });

  test("a key is made of objects that were read less than 10 seconds before, so it need not be read again before they would be", async () => {
    await node.keys.insert(newKey("a"));
    await node.keys.insert(newKey("b"));
    await existing("a");
    clock.advance(10_000);
    const before = store.calls();
    await existing("b");
    expect(store.calls()).toBe(before + 5);
    clock.advance(19_999);
    await existing("b");
    await settled();
    expect(store.calls()).toBe(before + 5);
  });

  test("a key is remembered for no longer than a second after the read of a role that has just changed", async () => {
    await node.keys.insert(newKey("a"));
    await node.keys.insert(newKey("b"));
    await existing("a");
    const before = store.calls();
    node.hear(["role_1"]);
    await existing("a");
    clock.advance(500);
    await existing("b");
    expect(store.calls()).toBe(before + 3);
    clock.advance(499);
    for (const hash of ["a", "b"]) expect(node.cache.get(hash, {})).not.toBeInstanceOf(Promise);
    clock.advance(1);
    await existing("b");
    expect(store.calls()).toBe(before + 5);
  });

  describe("[verify §12] on the node that made the change, the next read sees", () => {
    const limit: StoredRatelimit = { id: "rl_1", name: "requests", limit: 5, duration: 1_000, autoApply: true };
    const changes: readonly (readonly [
      string,
      () => Promise<unknown>,
      readonly string[],
      (entry: VerificationEntry | null) => unknown,
      unknown,
    ])[] = [
      [
        "a role that lost a permission",
        () => store.collection("roles").updateOne({ _id: "role_1" }, { $set: { permissionIds: [] } }),
        ["role_1"],
        (entry) => entry?.permissions.slugs,
        ["read"],
      ],
      [
        "a role that was renamed",
        () => store.collection("roles").updateOne({ _id: "role_1" }, { $set: { name: "boss" } }),
        ["role_1"],
        (entry) => entry?.roles,
        ["boss"],
      ],
      [
        "a deleted role",
        () => store.collection("roles").updateOne({ _id: "role_1" }, { $set: { deletedAt: 1 } }),
        ["role_1"],
        (entry) => [entry?.roles, entry?.permissions.slugs],
        [[], ["read"]],
      ],
      [
        "a deleted permission",
        () => store.collection("permissions").updateOne({ _id: "perm_read" }, { $set: { deletedAt: 1 } }),
        ["perm_read"],
        (entry) => entry?.permissions.slugs,
        ["write"],
      ],
      [
        "a deleted permission that only a role grants",
        () => store.collection("permissions").updateOne({ _id: "perm_write" }, { $set: { deletedAt: 1 } }),
        ["perm_write"],
        (entry) => entry?.permissions.slugs,
        ["read"],
      ],
      [
        "a renamed permission",
        () => store.collection("permissions").updateOne({ _id: "perm_read" }, { $set: { slug: "view.*" } }),
        ["perm_read"],
        (entry) => entry && satisfies(entry.permissions, "view.all"),
        true,
      ],
      [
        "a deleted identity, whose limits go with it",
        () => store.collection("identities").updateOne({ _id: "id_1" }, { $set: { deletedAt: 1 } }),
        ["id_1"],
        (entry) => [entry?.identity, entry?.limits.length],
        [undefined, 0],
      ],
      [
        "the limits of the identity",
        () => store.collection("identities").updateOne({ _id: "id_1" }, { $set: { ratelimits: [limit] } }),
        ["id_1"],
        (entry) => entry?.autoApplied.map(({ limit: each }) => each),
        [5],
      ],
      [
        "the metadata of the identity",
        () => store.collection("identities").updateOne({ _id: "id_1" }, { $set: { meta: '{"a":1}' } }),
        ["id_1"],
        (entry) => textOf(entry?.identity?.meta ?? {}),
        '{"a":1}',
      ],
      [
        "a deleted API",
        () => store.collection("apis").updateOne({ _id: "api_1" }, { $set: { deletedAt: 1 } }),
        ["api_1"],
        (entry) => entry,
        null,
      ],
    ];

    test.each(changes)("%s", async (_, change, announced, look, wanted) => {
      await node.keys.insert(newKey("a"));
      await existing("a");
      await change();
      node.announce(announced);
      expect(look(await entryOf("a"))).toEqual(wanted);
    });

    test("an update, a deletion and an erasure of the key itself", async () => {
      for (const [hash, remove] of [
        ["a", node.keys.delete],
        ["b", node.keys.erase],
      ] as const) {
        const key = newKey(hash);
        await node.keys.insert(key);
        await existing(hash);
        await node.keys.modify(key._id, () => ({ update: { $set: { enabled: false } }, events: [] }));
        expect((await existing(hash)).enabled).toBe(false);
        await remove(key, clock.now(), []);
        expect(await entryOf(hash)).toBeNull();
      }
    });

    test("a change whose outcome the store never reported", async () => {
      const key = newKey("a");
      await node.keys.insert(key);
      await existing("a");
      const written = store.collection("keys");
      await written.updateOne({ _id: key._id }, { $set: { enabled: false } });
      store.behave("fails");
      await expect(node.keys.delete(key, clock.now(), [])).rejects.toThrow();
      store.behave("well");
      expect((await existing("a")).enabled).toBe(false);
    });

    test("a key that was unknown until it was made", async () => {
      expect(await entryOf("a")).toBeNull();
      await node.keys.insert(newKey("a"));
      await existing("a");
    });

    test("a key that was looked for while it was made", async () => {
      const looking = entryOf("a");
      await node.keys.insert(newKey("a"));
      await looking;
      await existing("a");
    });
  });

  describe("on another node that hears nothing", () => {
    test("[verify §12] a change is seen after 30 seconds at most, however deep in the key it is", async () => {
      await node.keys.insert(newKey("a"));
      const other = createNode();
      expect((await existing("a", other)).permissions.slugs).toEqual(["read", "write"]);
      // A second key is read later from the same cached role: it inherits the role's age.
      clock.advance(9_999);
      await node.keys.insert(newKey("b"));
      await existing("b", other);
      await store.collection("roles").updateOne({ _id: "role_1" }, { $set: { permissionIds: [] } });
      clock.advance(20_001);
      expect((await existing("a", other)).permissions.slugs).toEqual(["read"]);
      expect((await existing("b", other)).permissions.slugs).toEqual(["read"]);
    });

    test("[verify §12] an unknown key is believed unknown for one second at most", async () => {
      const other = createNode();
      expect(await entryOf("a", other)).toBeNull();
      await node.keys.insert(newKey("a"));
      clock.advance(999);
      const before = store.calls();
      expect(await entryOf("a", other)).toBeNull();
      expect(store.calls()).toBe(before);
      clock.advance(1);
      await existing("a", other);
    });
  });

  test("while the store is down a warm key is served for 30 seconds, and an unknown one is never called unknown", async () => {
    await node.keys.insert(newKey("a"));
    await existing("a");
    store.behave("fails");
    await expect(entryOf("unknown")).rejects.toThrow();
    for (let second = 0; second < 30; second++) {
      await existing("a");
      clock.advance(1_000);
    }
    await expect(entryOf("a")).rejects.toThrow();
    store.behave("well");
    await existing("a");
  });

  test("an object that cannot be read makes no key without it", async () => {
    await node.keys.insert(newKey("a"));
    await existing("a");
    await node.keys.insert(newKey("b", { roleIds: ["role_1", "role_2"] }));
    const faulty = createNode();
    const loading = entryOf("b", faulty);
    store.behave("fails");
    await expect(loading).rejects.toThrow();
    store.behave("well");
    expect((await existing("b", faulty)).roles).toEqual(["editor"]);
  });
});
