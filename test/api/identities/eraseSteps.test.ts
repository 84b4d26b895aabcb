import { afterEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { auditEvent, resource, systemSource } from "../../../src/features/audit/auditEvent.ts";
import { createErasuresRepository } from "../../../src/features/identities/erasuresRepository.ts";
import { createIdentitiesRepository, deletionOfIdentity } from "../../../src/features/identities/identitiesRepository.ts";
import { runErasure } from "../../../src/features/identities/runErasure.ts";
import { createKeysRepository } from "../../../src/features/keys/keysRepository.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { createId } from "../../../src/platform/base/ids.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { erasePerson, eraserCall, erasureOn, fillPerson, insertKey, NAME, remainsOf } from "../../support/erasures.ts";
import { engines } from "../../support/stores.ts";

const nothing = { identityIds: [], through: 0, keys: 0, entries: 0, events: 0 };

/** Keeps answers for repeated calls, with these texts. */
const keepAnswers = (store: Store, answers: readonly string[]) =>
  store.collection("idempotency").insertMany(
    answers.map((answer, i) => ({
      ...{ _id: `answer_${String(i).padStart(5, "0")}`, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, request: "", salt: "", now: 1 },
      ...{ holder: "", leaseUntil: 1, permissions: [], answer, done: true, expireAt: new Date(8_000_000_000_000) },
    })),
  );

const keptAnswers = async (store: Store) => (await store.collection("idempotency").find({}).toArray()).map(({ answer }) => answer);

describe.each(engines)("[data §4] the steps of an erasure on $name", (engine) => {
  afterEach(() => engine.close());

  test("forget the answers that tell the externalId, and not those that have it as another member or text", async () => {
    const store = await engine.open();
    const others = ['{"data":{"keyId":"key_1"}}', '{"data":{"externalId":"dave"}}', '{"data":{"name":"data"}}'];
    await keepAnswers(store, [...others, '{"data":{"id":"id_1","externalId":"data"}}']);
    await createErasuresRepository(store).forgetAnswers("data", "", 100);
    expect((await keptAnswers(store)).sort()).toEqual(others.toSorted());
  });

  test("continue with the kept answers where the previous call ran out of time", async () => {
    const store = await engine.open();
    const told = JSON.stringify({ data: { externalId: NAME } });
    await keepAnswers(
      store,
      Array.from({ length: 1_200 }, () => told),
    );
    const erasures = createErasuresRepository(store);
    await erasures.begin({ id: "id_1", externalId: NAME, ...nothing });
    const left: number[] = [];
    for (let calls = 0, done = false; !done && calls < 20; calls++) {
      const [note = { id: "id_1", externalId: NAME, ...nothing }] = await erasures.list();
      let asked = 0;
      ({ done } = await runErasure(erasureOn(store), note, eraserCall(), () => asked++ < 3));
      left.push((await keptAnswers(store)).length);
    }
    expect(left).toEqual([700, 200, 0]);
  });

  test("read the log again when a call died right after it took the names from keys of an identity found late", async () => {
    const store = await engine.open();
    const deps = erasureOn(store);
    const source = systemSource(systemClock);
    const [identityId, keyId] = [createId("id", systemClock.now()), createId("key", systemClock.now())];
    await insertKey(store, { keyId, name: NAME }, [auditEvent(source, "key.create", "Created", resource("key", keyId, NAME))]);
    await deps.moveEvents();
    await deps.appendEvents(Array.from({ length: 500 }, () => auditEvent(source, "api.create", "Created", resource("api", "api_1"))));
    const identities = createIdentitiesRepository(store);
    const target = resource("identity", identityId, NAME);
    await identities.insert({ id: identityId, externalId: NAME }, systemClock.now(), [auditEvent(source, "identity.create", "", target)]);
    await store.collection("keys").updateOne({ _id: keyId }, { $set: { identityId } });
    await identities.modify(identityId, () => ({ update: deletionOfIdentity(systemClock.now()), events: [] }));
    let isStripped = false;
    const dying = interceptStore(store, async (operation, { collection, name }) => {
      if (isStripped) throw new StoreUnavailableError("died");
      if (collection === "keys" && name === "bulkWrite") isStripped = true;
      return operation();
    });
    await expect(erasePerson(dying)).rejects.toThrow("died");
    expect(isStripped).toBe(true);
    expect(await erasePerson(store)).toMatchObject({ done: true });
    expect(await remainsOf(store)).toEqual([]);
  });

  test("wait for entries that another node still has to move into the log", async () => {
    const store = await engine.open();
    const identities = createIdentitiesRepository(store);
    const identityId = createId("id", systemClock.now());
    const tell = (event: "identity.create" | "identity.delete") => [
      auditEvent(systemSource(systemClock), event, `Of ${NAME}`, resource("identity", identityId, NAME)),
    ];
    await identities.insert({ id: identityId, externalId: NAME }, systemClock.now(), tell("identity.create"));
    const { moveEvents } = erasureOn(store);
    await moveEvents();
    await identities.modify(identityId, () => ({ update: deletionOfIdentity(systemClock.now()), events: tell("identity.delete") }));
    let rounds = 0;
    const elsewhere = async () => {
      if (rounds++ > 1) await moveEvents();
    };
    expect(await erasePerson(store, { moveEvents: elsewhere })).toMatchObject({ done: true, entries: 2n });
    await moveEvents();
    expect(await remainsOf(store)).toEqual([]);
  });

  test("are not done while a reader still uses the old content of the store's files", async () => {
    const store = await engine.open();
    await fillPerson(store);
    let isRead = true;
    const read = { ...store, scrub: async () => !isRead };
    const [id, asked] = [(await createIdentitiesRepository(store).findByExternalId(NAME))?._id ?? "", { times: 0 }];
    await createIdentitiesRepository(store).deleteToErase(id, systemClock.now(), () => []);
    const begun = { id, externalId: NAME, ...nothing, identityIds: [id] };
    await createErasuresRepository(store).begin(begun);
    expect(await runErasure(erasureOn(read), begun, eraserCall(), () => asked.times++ < 20)).toMatchObject({ done: false });
    expect(await remainsOf(store)).toEqual(["system"]);
    isRead = false;
    expect(await erasePerson(read)).toMatchObject({ done: true });
    expect(await remainsOf(store)).toEqual([]);
  });

  test.each(["audit", "idempotency"])("take the name from a key that comes to the identity once they have reached: %s", async (place) => {
    const store = await engine.open();
    await fillPerson(store);
    const identityId = (await createIdentitiesRepository(store).findByExternalId(NAME))?._id ?? "";
    const keyId = createId("key", systemClock.now());
    const late = auditEvent(systemSource(systemClock), "key.create", "Created", resource("key", keyId, NAME));
    let isMade = false;
    const meeting = interceptStore(store, async (operation, { collection }) => {
      if (collection === place && !isMade) {
        isMade = true;
        await insertKey(store, { keyId, identityId, name: NAME }, [late]);
        await erasureOn(store).moveEvents();
      }
      return operation();
    });
    for (let calls = 0; calls < 3 && !(await erasePerson(meeting)).done; calls++);
    expect(await createKeysRepository(store).find(keyId)).not.toHaveProperty("name");
    expect(await remainsOf(store)).toEqual([]);
  });

  test("make no note again that another call has removed", async () => {
    const store = await engine.open();
    await fillPerson(store);
    const dying = interceptStore(store, async (operation, { collection, name }) => {
      if (collection === "idempotency") throw new StoreUnavailableError("died");
      const answer = await operation();
      // Once the keys have no names left, another call completes the erasure while this one is still running.
      if (collection === "keys" && name === "bulkWrite") {
        for (const { id } of await createErasuresRepository(store).list()) await createErasuresRepository(store).remove(id);
      }
      return answer;
    });
    await expect(erasePerson(dying)).rejects.toThrow("died");
    expect(await createErasuresRepository(store).list()).toEqual([]);
  });

  describe("continue when a new identity has taken the externalId", () => {
    /** An erasure that died once it had read the log, and what was made then; ids of the identity and of its key. */
    const begun = async (store: Store) => {
      await fillPerson(store);
      const dying = interceptStore(store, async (operation, { collection }) => {
        if (collection === "idempotency") throw new StoreUnavailableError("died");
        return operation();
      });
      await erasePerson(dying).catch(() => undefined);
      const [identityId, keyId] = [createId("id", systemClock.now()), createId("key", systemClock.now())];
      await createIdentitiesRepository(store).insert({ id: identityId, externalId: NAME }, systemClock.now(), []);
      const tied = auditEvent(systemSource(systemClock), "key.update", "Tied to somebody", resource("key", keyId));
      await insertKey(store, { keyId, identityId, name: "fresh" }, [
        { ...tied, changes: [JSON.stringify({ field: "externalId", after: NAME })] },
      ]);
      return { identityId, keyId };
    };
    const texts = async (store: Store) => (await store.collection("audit").find({}).toArray()).map(({ event: { display } }) => display);

    test("leaves it, its keys and their entries alone", async () => {
      const store = await engine.open();
      const { identityId, keyId } = await begun(store);
      expect(await erasePerson(store)).toMatchObject({ done: true });
      expect(await createIdentitiesRepository(store).find(identityId)).toMatchObject({ externalId: NAME });
      expect(await createKeysRepository(store).find(keyId)).toMatchObject({ name: "fresh", identityId });
      await erasureOn(store).moveEvents();
      expect(await texts(store)).toContain("Tied to somebody");
      expect(JSON.stringify(await createErasuresRepository(store).list())).toBe("[]");
    });

    test("erases it as well when it is named by its id", async () => {
      const store = await engine.open();
      const { identityId, keyId } = await begun(store);
      expect(await erasePerson(store, {}, identityId)).toMatchObject({ done: true });
      expect(await remainsOf(store)).toEqual([]);
      expect(await createKeysRepository(store).find(keyId)).not.toHaveProperty("name");
      expect(await texts(store)).not.toContain("Tied to somebody");
    });
  });
});
