import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { createIdentitiesRepository } from "../../src/features/identities/identitiesRepository.ts";
import { createKeySearchRepository, nameKeyOf } from "../../src/features/keys/keySearchRepository.ts";
import { createKeysRepository } from "../../src/features/keys/keysRepository.ts";
import { type BackfillOptions, createBackfill } from "../../src/operations/sweep/backfill.ts";
import { type BackfillsRepository, createBackfillsRepository } from "../../src/operations/sweep/backfillsRepository.ts";
import type { LeasedRounds } from "../../src/operations/sweep/leasedRounds.ts";
import { WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createLeasesRepository, type LeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { foldCase } from "../../src/platform/util/foldCase.ts";
import { sampleKey } from "../storage/contract/samples.ts";
import { startApi } from "../support/api.ts";
import { dyingAfterEachWrite } from "../support/dyingProcess.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const clock = createTestClock();
const DAY = 86_400_000;
const KEYS = 250;
const IDENTITIES = 120;

const nameOf = (i: number): string => `ΟΔΥΣΣΕΥΣ ${i}`;
const externalIdOf = (i: number): string => `User.${i}`;

type More = Partial<BackfillOptions>;

const backfillOn = (store: Store, more: More = {}): LeasedRounds =>
  createBackfill({
    clock,
    leases: createLeasesRepository(store),
    backfills: createBackfillsRepository(store),
    isShared: true,
    ...more,
  });

/** As an earlier version left them: every tenth key has no name, and every tenth is deleted; some were updated since. */
const fill = async (store: Store): Promise<void> => {
  await store.collection("system").updateOne({ _id: "schema" }, { $set: { v: 2, schema: 3, workspaceId: WORKSPACE_ID } }, { upsert: true });
  await store.collection("keys").insertMany(
    Array.from({ length: KEYS }, (_, i) => {
      const { name: _name, nameKey: _nameKey, ...key } = sampleKey({ apiId: "api_1", revision: 3 });
      const name = i % 10 === 0 ? {} : { name: nameOf(i), ...(i % 10 === 1 ? { nameKey: nameKeyOf(nameOf(i)) } : {}) };
      return { ...key, ...name, v: 2, ...(i % 10 === 2 ? { deletedAt: 1 } : {}) };
    }),
  );
  const made = Array.from({ length: IDENTITIES }, (_, i) => ({ identity: { id: `id_${i}`, externalId: externalIdOf(i) }, events: [] }));
  await createIdentitiesRepository(store).insertMany(made, 1);
  const earlier = made.filter((_, i) => i % 2 === 0).map(({ identity }) => identity.id);
  await store
    .collection("identities")
    .bulkWrite(earlier.map((_id) => ({ updateOne: { filter: { _id }, update: { $unset: { externalKey: "" } } } })));
};

const keysIn = (store: Store) =>
  store
    .collection("keys")
    .find({}, { sort: { _id: 1 } })
    .toArray();
const stateOf = async (store: Store) => (await createBackfillsRepository(store).find())?.backfill;

const expectFilled = async (store: Store): Promise<void> => {
  for (const { name, nameKey, deletedAt, revision, updatedAt } of await keysIn(store)) {
    if (deletedAt === undefined) expect(nameKey).toBe(name === undefined ? undefined : nameKeyOf(name));
    expect([revision, updatedAt]).toEqual([3, undefined]);
  }
  for (const { externalId, externalKey } of await store.collection("identities").find({}).toArray()) {
    expect(externalKey).toBe(foldCase(externalId ?? ""));
  }
};

describe.each(engines)("the backfill on $name", (engine) => {
  let store: Store;
  beforeEach(async () => {
    store = await engine.open();
    await fill(store);
  });
  afterEach(() => engine.close());

  const foundByName = async (text: string): Promise<number> => {
    const where = { apiId: "api_1", field: "nameKey", prefix: nameKeyOf(text) } as const;
    return (await createKeySearchRepository(store).findByText(where, undefined, 1_000, {})).length;
  };

  test("[management §2] keys and identities of an earlier version are found by name and externalId without an update", async () => {
    expect(await foundByName("οδυσ")).toBe(KEYS / 10);
    await backfillOn(store).run();
    await expectFilled(store);
    expect(await foundByName("οδυσ")).toBe((KEYS / 10) * 8);
    expect(await createKeySearchRepository(store).findIdentities("user.", 1_000, {})).toHaveLength(IDENTITIES);
    expect(await stateOf(store)).toMatchObject({ pass: 1, lookedAt: KEYS + IDENTITIES, filled: (KEYS / 10) * 7 + IDENTITIES / 2 });
  });

  test("[management §2] it tells how far it has come when it begins and when it ends", async () => {
    const told: unknown[] = [];
    const onStart: More["onStart"] = (progress) => told.push(["start", progress]);
    const onEnd: More["onEnd"] = (progress) => told.push(["end", progress]);
    await backfillOn(store, { onStart, onEnd }).run();
    expect(told).toEqual([
      ["start", { pass: 1, lookedAt: 0, filled: 0 }],
      ["end", { pass: 1, lookedAt: KEYS + IDENTITIES, filled: (KEYS / 10) * 7 + IDENTITIES / 2 }],
    ]);
  });

  test("[management §2] a store that no earlier version made is not looked at, and a lease is not taken", async () => {
    await store.collection("system").updateOne({ _id: "schema" }, { $set: { v: 3 } });
    await backfillOn(store).run();
    expect([await stateOf(store), await store.collection("leases").find({}).toArray()]).toEqual([undefined, []]);
    expect(await foundByName("οδυσ")).toBe(KEYS / 10);
  });

  test("[management §2] a second pass, a day later, finds what nodes of the earlier version have written meanwhile", async () => {
    const node = backfillOn(store);
    await node.run();
    const [renamed, unnamed] = (await keysIn(store)).filter(({ name, deletedAt }) => name !== undefined && deletedAt === undefined);
    await store.collection("keys").updateOne({ _id: renamed?._id ?? "" }, { $set: { name: "Renamed", v: 2 } });
    await store.collection("keys").updateOne({ _id: unnamed?._id ?? "" }, { $unset: { name: "" }, $set: { v: 2 } });
    clock.advance(DAY - 1);
    await node.run();
    expect([await foundByName("renamed"), await stateOf(store)]).toMatchObject([0, { pass: 1 }]);
    clock.advance(1);
    await node.run();
    expect([await foundByName("renamed"), await stateOf(store)]).toMatchObject([1, { pass: 2, filled: 2 }]);
    await expectFilled(store);
    // It was the last one.
    const after = await stateOf(store);
    clock.advance(10 * DAY);
    for (const each of [node, backfillOn(store)]) await each.run();
    expect(await stateOf(store)).toEqual(after);
  });

  test("[management §2] a store that this process alone writes to needs one pass", async () => {
    await backfillOn(store, { isShared: false }).run();
    const after = await stateOf(store);
    clock.advance(2 * DAY);
    await backfillOn(store, { isShared: false }).run();
    expect(await stateOf(store)).toEqual(after);
  });

  test("[management §2] is gone on with by another process when one dies after any of its writes", async () => {
    const writes = await dyingAfterEachWrite(store, async (mortal) => {
      await backfillOn(mortal)
        .run()
        .catch(() => undefined);
      clock.advance(10_001);
    });
    expect(writes).toBeGreaterThan(2);
    await expectFilled(store);
  });

  test("[management §2] ends with the service, and continues at the next start", async () => {
    const first = backfillOn(store);
    const running = first.run();
    await first.stop();
    await running;
    const { after, lookedAt } = (await stateOf(store)) ?? expect.unreachable();
    expect([lookedAt, await store.collection("leases").find({}).toArray()]).toEqual([100, []]);
    const begun: unknown[] = [];
    await backfillOn(store, { onStart: (progress) => begun.push(progress) }).run();
    expect([begun, after]).toMatchObject([[{ pass: 1, lookedAt: 100 }], expect.stringMatching(/^key_/)]);
    await expectFilled(store);
    expect(await stateOf(store)).toMatchObject({ lookedAt: KEYS + IDENTITIES });
  });

  test("[management §2] runs on one node during its lease, and does no harm on several at once", async () => {
    expect(await createLeasesRepository(store).acquire("backfill", "another node", clock.now(), 10_000)).toBe(true);
    await backfillOn(store).run();
    expect(await stateOf(store)).toBeUndefined();
    const always: LeasesRepository = { acquire: async () => true, release: async () => undefined };
    await Promise.all([1, 2, 3].map(() => backfillOn(store, { leases: always }).run()));
    await expectFilled(store);
  });

  test("[management §2] a change at the same time wins, and a deletion is not undone", async () => {
    const keys = createKeysRepository(store);
    const waits = ({ name, nameKey, deletedAt }: KeyDocument): boolean => name !== undefined && (nameKey ?? deletedAt) === undefined;
    const [renamed, erased] = (await keysIn(store)).filter(waits);
    let isFirst = true;
    const between = interceptStore(store, async (operation, { collection, name }) => {
      if (collection !== "keys" || name !== "bulkWrite" || !isFirst) return operation();
      isFirst = false;
      const update = { $set: { name: "Meanwhile", nameKey: "meanwhile" } } as const;
      await keys.modify(renamed?._id ?? "", () => ({ update, events: [] }));
      await keys.erase(erased ?? expect.unreachable(), 5, []);
      return operation();
    });
    const backfills: BackfillsRepository = createBackfillsRepository(between);
    await backfillOn(store, { backfills }).run();
    const byId = new Map((await keysIn(store)).map((key) => [key._id, key]));
    expect(byId.get(renamed?._id ?? "")).toMatchObject({ name: "Meanwhile", nameKey: "meanwhile" });
    expect(byId.get(erased?._id ?? "")).not.toHaveProperty("nameKey");
  });

  test("[management §2] a service does it by itself, and says so in its log", async () => {
    let log = "";
    const collect = {
      write: (line: string) => {
        log += line;
      },
    };
    const api = await startApi(engine, { store, log: createLog("info", collect) });
    await expect.poll(async () => (await stateOf(store))?.endedAt, { timeout: 20_000 }).toBeDefined();
    await expectFilled(store);
    await api.close();
    for (const step of ["started", "ended"]) expect(log).toContain(`"msg":"backfill of searched names ${step}"`);
    expect(log).toContain(`"pass":1,"lookedAt":${KEYS + IDENTITIES},"filled":${(KEYS / 10) * 7 + IDENTITIES / 2}`);
  });
});
