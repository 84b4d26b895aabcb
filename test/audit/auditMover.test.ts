import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { type AuditSource, auditEvent, resource } from "../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { type AuditMover, createAuditMover } from "../../src/features/audit/auditMover.ts";
import { chainHash } from "../../src/features/audit/chainHash.ts";
import { createId } from "../../src/platform/base/ids.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import { type AuditedCollection, auditedCollections } from "../../src/platform/storage/port/auditedCollections.ts";
import type { ApiDocument, AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createLeasesRepository, type LeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { newDocument, withEvents } from "../../src/platform/storage/repositories/shared/audited.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const clock = createTestClock();
const source = (now = clock.now()): AuditSource => ({ actor: { type: "system", id: "system" }, correlationId: "cor_1", now });
const event = (id: string, now?: number): AuditEvent => auditEvent(source(now), "api.create", `Created ${id}`, resource("api", id));

/** Documents of any audited collection, changed as repositories do it; remembers the events it wrote, in order. */
const createWriter = (store: Store) => {
  const written: AuditEvent[] = [];
  const collection = (name: AuditedCollection) => store.collection(name as "apis");
  const change = async (name: AuditedCollection, id: string, $set: Partial<ApiDocument>, now?: number): Promise<AuditEvent> => {
    const made = event(id, now);
    written.push(made);
    await collection(name).updateOne({ _id: id }, withEvents<ApiDocument>({ $set }, [made]));
    return made;
  };
  const make = (count: number, now?: number): ApiDocument => {
    const id = createId("api", clock.now());
    const events = Array.from({ length: count }, () => event(id, now));
    written.push(...events);
    const unique = { slugKey: id, nameKey: id, hash: id, externalId: id, namespaceId: id, identifier: id };
    return { ...newDocument(id, clock.now(), events), ...unique, name: id } as ApiDocument;
  };
  return {
    written,
    change,
    insert: async (name: AuditedCollection, count = 1, now?: number): Promise<string> => {
      const document = make(count, now);
      await collection(name).insertOne(document);
      return document._id;
    },
    /** A document with one event for each time, in one write. */
    insertAll: (name: AuditedCollection, times: readonly number[]): Promise<unknown> =>
      collection(name).insertMany(times.map((time) => make(1, time))),
    erase: (name: AuditedCollection, id: string) => change(name, id, { deletedAt: clock.now(), erased: true }),
    find: (name: AuditedCollection, id: string): Promise<ApiDocument | null> => collection(name).findOne({ _id: id }),
  };
};

const moverOn = (store: Store, leases: LeasesRepository = createLeasesRepository(store)): AuditMover =>
  createAuditMover({ clock, auditLog: createAuditLogRepository(store), leases });
/** As if every lease had just run out: several movers at once. */
const noLeases: LeasesRepository = { acquire: async () => true, release: async () => undefined };

const entriesOf = (store: Store): Promise<AuditLogDocument[]> =>
  store
    .collection("audit")
    .find({}, { sort: { sequence: 1 } })
    .toArray();

/** One chain without gap or fork, and every outbox empty. */
const expectSound = async (store: Store): Promise<AuditLogDocument[]> => {
  const entries = await entriesOf(store);
  let previousHash = "0".repeat(64);
  for (const [i, entry] of entries.entries()) {
    expect(entry).toMatchObject({ _id: entry.event.id, sequence: i + 1, previousHash });
    expect(entry.hash).toBe(chainHash(previousHash, i + 1, entry.event, entry.format, entry));
    previousHash = entry.hash;
  }
  for (const name of auditedCollections) {
    const pending = await store
      .collection(name as "apis")
      .find({ pendingMark: { $exists: true } })
      .toArray();
    expect([name, pending]).toEqual([name, []]);
  }
  return entries;
};

/** Exactly the events that were written, each once. */
const expectAll = async (store: Store, written: readonly AuditEvent[]): Promise<void> => {
  const moved = (await expectSound(store)).map((entry) => entry.event);
  expect(new Set(moved.map(({ id }) => id))).toEqual(new Set(written.map(({ id }) => id)));
  expect(moved).toHaveLength(written.length);
};

describe.each(engines)("on $name", (engine) => {
  let store: Store;
  let writer: ReturnType<typeof createWriter>;
  beforeEach(async () => {
    store = await engine.open();
    writer = createWriter(store);
    return () => store.close();
  });
  afterAll(() => engine.close());

  test("[protocol §11] every event of every collection reaches the log once, as it was written", async () => {
    for (const name of auditedCollections) await writer.insert(name, 2);
    await moverOn(store).run();
    await expectAll(store, writer.written);
    const moved = (await entriesOf(store)).map((entry) => entry.event);
    for (const each of writer.written) expect(moved).toContainEqual(each);
    await moverOn(store).run();
    await expectAll(store, writer.written);
  });

  test("events are in the order of time across collections, and of change within a document", async () => {
    const start = clock.now();
    const api = await writer.insert("apis", 1, start + 20);
    await writer.insert("keys", 1, start + 10);
    await writer.insert("permissions", 1, start + 20);
    await writer.change("apis", api, { name: "a" }, start + 40);
    // Received earlier, written later.
    await writer.change("apis", api, { name: "b" }, start + 30);
    await writer.insert("rootKeys", 1, start + 50);
    await moverOn(store).run();
    const moved = (await expectSound(store)).map(({ event: { time, resources } }) => [time - start, resources[0]?.id === api]);
    // At one moment, events of objects made on the way come before the event of the object they were made for.
    expect(moved).toEqual([
      [10, false],
      [20, false],
      [20, true],
      [40, true],
      [30, true],
      [50, false],
    ]);
  });

  test("more documents and events than one round takes are moved in one run", async () => {
    const before = clock.now();
    await writer.insert("keys", 1_100, before);
    await writer.insertAll(
      "apis",
      Array.from({ length: 250 }, (_, i) => before + i),
    );
    await moverOn(store).run();
    await expectAll(store, writer.written);
  });

  test("a mover with the lease and nothing to move makes one request for all collections", async () => {
    await moverOn(store).run();
    const asked: string[] = [];
    const heard = interceptStore(store, (operation, { collection, name }) => {
      asked.push(`${collection} ${name}`);
      return operation();
    });
    clock.advance(60_000);
    await moverOn(heard).run();
    expect(asked).toEqual(["leases updateOne", "system collectionsWith"]);
  });

  test("an erased document goes once its events have been moved, a deleted one stays", async () => {
    const [erased, deleted] = [await writer.insert("keys"), await writer.insert("keys")];
    await writer.erase("keys", erased);
    await writer.change("keys", deleted, { deletedAt: clock.now() });
    const cut = interceptStore(store, (operation, { collection, name }) => {
      if (collection === "audit" && name === "insertMany") throw new StoreUnavailableError("cut off");
      return operation();
    });
    await expect(moverOn(cut).run()).rejects.toThrow(StoreUnavailableError);
    expect(await writer.find("keys", erased)).toMatchObject({ erased: true });
    clock.advance(60_000);
    await moverOn(store).run();
    expect(await writer.find("keys", erased)).toBeNull();
    expect(await writer.find("keys", deleted)).toMatchObject({ deletedAt: expect.any(Number) });
    await expectAll(store, writer.written);
  });

  test.each(["before", "after"])("a mover that is cut off %s any of its operations neither loses nor doubles an event", async (moment) => {
    for (let at = 0, reached = true; reached; at++) {
      const [api, erased] = [await writer.insert("apis", 2), await writer.insert("keys")];
      await writer.insert("permissions");
      await writer.change("apis", api, { name: "changed" });
      await writer.erase("keys", erased);
      // The lease of the mover before runs out.
      clock.advance(60_000);
      let operations = 0;
      reached = false;
      const cut = interceptStore(store, async (operation) => {
        const dies = operations++ >= at;
        reached ||= dies;
        if (dies && (moment === "before" || operations > at + 1)) throw new StoreUnavailableError("cut off");
        const result = await operation();
        if (dies) throw new StoreUnavailableError("no answer", { outcomeUnknown: true });
        return result;
      });
      const outcome = await moverOn(cut)
        .run()
        .then(
          () => "ended",
          (error: unknown) => error,
        );
      expect(outcome).toEqual(reached ? expect.any(StoreUnavailableError) : "ended");
      clock.advance(60_000);
      await moverOn(store).run();
      await expectAll(store, writer.written);
      expect(await writer.find("keys", erased)).toBeNull();
      // The lease, the look, the head, the insert, and of three collections each two reads and what settles them.
      if (!reached) expect(at).toBeGreaterThanOrEqual(4 + 3 * 3);
    }
  });

  test("a change that comes between any two operations is moved, too, now or with the next run", async () => {
    for (let at = 0, reached = true; reached; at++) {
      const api = await writer.insert("apis");
      const erased = await writer.insert("keys");
      let operations = 0;
      reached = false;
      const busy = interceptStore(store, async (operation) => {
        if (operations++ === at) {
          reached = true;
          await writer.change("apis", api, { name: "meanwhile" });
          await writer.erase("keys", erased);
          await writer.insert("roles");
        }
        return operation();
      });
      await moverOn(busy, noLeases).run();
      await moverOn(store, noLeases).run();
      await expectAll(store, writer.written);
      expect([at, await writer.find("keys", erased)]).toEqual([at, reached ? null : expect.anything()]);
    }
  });

  test("several concurrent movers on one store do not fork the chain", async () => {
    const beside = await engine.openBeside(store);
    const movers = [store, store, beside, beside].map((each) => moverOn(each, noLeases));
    for (let round = 0; round < sized(4, 15); round++) {
      const ids = await Promise.all([writer.insert("apis", 3), writer.insert("keys"), writer.insert("permissions", 2)]);
      await Promise.all([...movers.map((mover) => mover.run()), writer.change("apis", ids[0], { name: "x" }), writer.insert("roles", 2)]);
    }
    await moverOn(store, noLeases).run();
    await expectAll(store, writer.written);
    await beside.close();
  });

  test("one mover works at a time; another takes over when the first is gone, or has been silent for long", async () => {
    const [first, second] = [moverOn(store), moverOn(store)];
    await first.run();
    await writer.insert("apis");
    await second.run();
    expect(await entriesOf(store)).toEqual([]);
    await first.run();
    await expectAll(store, writer.written);

    await writer.insert("apis");
    clock.advance(10_001);
    await second.run();
    await expectAll(store, writer.written);

    await writer.insert("apis");
    await first.run();
    expect(await entriesOf(store)).toHaveLength(1 + 1);
    await second.stop();
    await expectAll(store, writer.written);
    await writer.insert("apis");
    await first.run();
    await expectAll(store, writer.written);
  });

  test("[management §8] another mover takes over three seconds after the first was heard of last", async () => {
    const [first, second] = [moverOn(store), moverOn(store)];
    await first.run();
    await writer.insert("apis");
    clock.advance(3_000);
    await second.run();
    expect(await entriesOf(store)).toEqual([]);
    clock.advance(1);
    await second.run();
    await expectAll(store, writer.written);
  });

  test("[management §8] a mover with a slow store renews its lease, and leaves the rest to its successor", async () => {
    const { insertAll, written } = createWriter(store);
    await insertAll("apis", Array(200).fill(clock.now()));
    await insertAll("keys", Array(200).fill(clock.now()));
    const auditLog = createAuditLogRepository(store);
    const other = moverOn(store);
    let appends = 0;
    // The first insert takes four seconds. Meanwhile another node takes over and moves all pending events.
    const append: typeof auditLog.append = async (entries) => {
      if (++appends === 1) {
        clock.advance(4_000);
        await other.run();
      }
      await auditLog.append(entries);
    };
    await createAuditMover({ clock, auditLog: { ...auditLog, append }, leases: createLeasesRepository(store) }).run();
    // It found its own batch in the log, and started no other.
    expect(appends).toBe(1);
    await expectAll(store, written);
  });

  test("[management §8] side tasks of the mover start no step after half a second: new events do not wait", async () => {
    let steps = 0;
    const done = Promise.withResolvers<void>();
    const mover = createAuditMover({
      clock,
      auditLog: createAuditLogRepository(store),
      leases: createLeasesRepository(store),
      background: async (goesOn) => {
        for (; goesOn(); steps++) clock.advance(200);
        done.resolve();
      },
    });
    mover.start();
    await done.promise;
    await mover.stop();
    expect(steps % 3).toBe(0);
    expect(steps).toBeGreaterThan(0);
  });

  test("a stop moves events for at most two seconds, and another node continues at once", async () => {
    const { insertAll, written } = createWriter(store);
    await insertAll("apis", Array(500).fill(clock.now()));
    const auditLog = createAuditLogRepository(store);
    // Each insert into the log takes a second.
    const append: typeof auditLog.append = async (entries) => {
      clock.advance(1_000);
      await auditLog.append(entries);
    };
    const slow = createAuditMover({ clock, auditLog: { ...auditLog, append }, leases: createLeasesRepository(store) });
    await slow.stop();
    const moved = (await entriesOf(store)).length;
    expect(moved).toBeGreaterThan(0);
    expect(moved).toBeLessThan(written.length);
    await moverOn(store).run();
    expect((await expectSound(store)).map(({ event }) => event.id).sort()).toEqual(written.map(({ id }) => id).sort());
  });

  test("the mover survives an outage of the store, and moves the rest when stopped", async () => {
    const problems: unknown[] = [];
    let away = true;
    const failing = interceptStore(store, (operation) => {
      if (away) throw new StoreUnavailableError("away");
      return operation();
    });
    const mover = createAuditMover({
      clock,
      auditLog: createAuditLogRepository(failing),
      leases: createLeasesRepository(failing),
      onError: (error) => problems.push(error),
    });
    mover.start();
    await writer.insert("apis");
    await expect.poll(() => problems.length, { timeout: 20_000 }).toBeGreaterThan(1);
    away = false;
    await expect.poll(async () => (await entriesOf(store)).length, { timeout: 20_000 }).toBe(1);
    await writer.insert("keys", 3);
    await mover.stop();
    await expectAll(store, writer.written);
    expect(await store.collection("leases").find({}).toArray()).toEqual([]);
  });

  test("the mover runs the follow-up work after each move, survives its failure, and waits for it before it stops", async () => {
    const seen: number[] = [];
    const problems: unknown[] = [];
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    let wasToldToEnd: boolean | undefined;
    const mover = createAuditMover({
      clock,
      auditLog: createAuditLogRepository(store),
      leases: createLeasesRepository(store),
      background: async (goesOn) => {
        seen.push((await entriesOf(store)).length);
        if (seen.length === 1) throw new Error("no index");
        begun.resolve();
        await released.promise;
        wasToldToEnd = !goesOn();
      },
      onError: (error) => problems.push(error),
    });
    await writer.insert("apis", 3);
    mover.start();
    await begun.promise;
    expect([seen, problems]).toEqual([[3, 3], [new Error("no index")]]);
    const stopped = mover.stop();
    released.resolve();
    await stopped;
    expect(wasToldToEnd).toBe(true);
    expect(await store.collection("leases").find({}).toArray()).toEqual([]);
  });

  test("a mover asks for the lease once a round: for what it does behind moving, the same one holds; without it, that is not its work", async () => {
    const asked = { holder: 0, other: 0 };
    const worked: string[] = [];
    const counted = (who: keyof typeof asked): LeasesRepository => ({
      ...createLeasesRepository(store),
      acquire: async (...lease) => {
        asked[who]++;
        return createLeasesRepository(store).acquire(...lease);
      },
    });
    const [holder, other] = (["holder", "other"] as const).map((who) =>
      createAuditMover({
        // However long a round takes here, none takes so long that the lease has to be asked for again.
        clock: { ...clock, monotonic: () => 0 },
        auditLog: createAuditLogRepository(store),
        leases: counted(who),
        background: async () => void worked.push(who),
      }),
    );
    await holder?.run();
    for (const mover of [holder, other]) mover?.start();
    await expect.poll(() => worked.length > 2 && asked.other > 1, { timeout: 20_000, interval: 20 }).toBe(true);
    expect(new Set(worked)).toEqual(new Set(["holder"]));
    // Also those of the round at the beginning, and of one whose work is still to come.
    expect(asked.holder - worked.length).toBeLessThanOrEqual(2);
    for (const mover of [holder, other]) await mover?.stop();
  });
});
