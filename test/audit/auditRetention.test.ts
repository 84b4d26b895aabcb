import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import type { AppendEvents } from "../../src/features/audit/appendEvents.ts";
import { auditEvent, resource, systemSource } from "../../src/features/audit/auditEvent.ts";
import { createAuditIndexRepository } from "../../src/features/audit/auditIndexRepository.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditRetention } from "../../src/features/audit/auditRetention.ts";
import { chainHash, GENESIS } from "../../src/features/audit/chainHash.ts";
import { checkChain } from "../../src/features/audit/checkChain.ts";
import { findEvents } from "../../src/features/audit/findEvents.ts";
import { indexAudit } from "../../src/features/audit/indexAudit.ts";
import { verifyAudit } from "../../src/features/audit/verifyAudit.ts";
import { createId } from "../../src/platform/base/ids.ts";
import type { AuditStub } from "../../src/platform/storage/port/auditEvents.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;
const clock = createTestClock();
const always = () => true;

describe.each(engines)("[management §4] a log that is kept for 30 days, on $name", (engine) => {
  let store: Store;
  let head: AuditLogDocument | undefined;
  beforeEach(async () => {
    store = await engine.open();
    head = undefined;
    return () => store.close();
  });
  afterAll(() => engine.close());

  /** Adds entries that were inserted `ago` milliseconds ago. Undated ones lack the time of insertion, as those of earlier versions. */
  const add = async (count: number, ago: number, { dated = true } = {}): Promise<void> => {
    const at = clock.now() - ago;
    const added = Array.from({ length: count }, (): AuditLogDocument => {
      const id = createId("log", at);
      const source = { ...systemSource(clock), now: at };
      const event = { ...auditEvent(source, "api.create", "Created", resource("api", id)), id };
      const [sequence, previousHash] = [(head?.sequence ?? 0) + 1, head?.hash ?? GENESIS];
      const hash = chainHash(previousHash, sequence, event);
      const entry = { _id: id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, event, sequence, previousHash, hash };
      head = dated ? { ...entry, insertedAt: at } : entry;
      return head;
    });
    for (let i = 0; i < count; i += 500) await store.collection("audit").insertMany(added.slice(i, i + 500));
  };
  const parts = (on: Store = store) => ({ auditLog: createAuditLogRepository(on), auditIndex: createAuditIndexRepository(on) });
  const append =
    (on: Store = store): AppendEvents =>
    async (events) => {
      const { auditLog } = parts(on);
      for (const event of events) {
        const last = await auditLog.head();
        const [sequence, previousHash] = [(last?.sequence ?? 0) + 1, last?.hash ?? GENESIS];
        const hash = chainHash(previousHash, sequence, event);
        const entry = { _id: event.id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, event, sequence, previousHash, hash };
        head = { ...entry, insertedAt: clock.now() };
        await auditLog.append([head]);
      }
    };
  const broken: number[] = [];
  const retention = (on: Store = store) =>
    createAuditRetention({ clock, ...parts(on), days: 30, onBroken: (sequence) => broken.push(sequence) });
  const drop = (on: Store = store) => retention(on)(always, append(on));
  const rows = async () =>
    (
      await store
        .collection("audit")
        .find({}, { sort: { sequence: 1 } })
        .toArray()
    ).map(({ sequence }) => sequence);
  const indexRows = async () => (await store.collection("auditIndex").find({}).toArray()).length;
  const stub = async () => (await parts().auditLog.stub()) as AuditStub;
  const verdict = () => verifyAudit(parts().auditLog);

  test("entries older than that go, those as old or younger stay, and the chain verifies from there and says so", async () => {
    await add(4, 30 * DAY + 1);
    await add(1, 30 * DAY + 1, { dated: false });
    const last = head as AuditLogDocument;
    await add(1, 30 * DAY);
    await add(2, DAY);
    await drop();
    expect(await rows()).toEqual([6, 7, 8, 9]);
    expect(await stub()).toEqual({ sequence: 5, hash: last.hash, droppedAt: clock.now(), statement: expect.stringMatching(/^log_/) });
    const { entries, faults, dropped } = await verdict();
    expect([entries, faults, dropped]).toEqual([4, [], await stub()]);
    const statement = await parts().auditLog.findEntry((await stub()).statement);
    expect(statement?.event).toMatchObject({
      event: "audit.drop",
      actor: { type: "system" },
      display: expect.stringContaining("5 entries"),
      resources: [{ type: "auditLog", id: "5", name: last.hash }],
    });
    for (const from of [undefined, 1, 5, 6]) {
      const check = await checkChain(parts().auditLog, { from, limit: 100 });
      expect(check).toMatchObject({ checked: 4, from: 6, to: 9, broken: undefined, dropped: { sequence: 5 } });
    }
    expect(await checkChain(parts().auditLog, { from: 8, limit: 1 })).toMatchObject({ checked: 1, from: 8, to: 8, broken: undefined });
  });

  test("nothing is dropped, and nothing said, while nothing is old", async () => {
    await add(3, DAY);
    await drop();
    expect(await rows()).toEqual([1, 2, 3]);
    expect(await stub()).toBeNull();
    expect((await verdict()).dropped).toBeUndefined();
  });

  test("a log of only old entries keeps its stub, and continues the numbers", async () => {
    await add(3, 40 * DAY);
    await drop();
    expect(await rows()).toEqual([4]);
    clock.advance(31 * DAY);
    await add(1, 0);
    await drop();
    expect(await rows()).toEqual([5, 6]);
    expect((await verdict()).faults).toEqual([]);
  });

  test("a node looks once an hour, and each time says once what it drops", async () => {
    await add(2, 40 * DAY);
    const node = retention();
    await node(always, append());
    await add(1, 40 * DAY);
    clock.advance(HOUR - 1);
    await node(always, append());
    expect(await rows()).toEqual([3, 4]);
    clock.advance(1);
    await node(always, append());
    // The statement of the first time is in front of it, and young.
    expect(await rows()).toEqual([3, 4]);
    clock.advance(30 * DAY);
    await node(always, append());
    expect(await rows()).toEqual([5]);
  });

  test("getLogs with an older cursor continues at the oldest entry, with filters and without", async () => {
    await add(1_200, 40 * DAY);
    await add(400, DAY);
    await indexAudit(parts());
    await drop();
    const all = Array.from({ length: 400 }, (_, i) => 1_201 + i);
    for (const filter of [{ event: ["api.create"] }, { actorId: "system", event: ["api.create"] }, { start: 0, event: ["api.create"] }]) {
      const { entries } = await findEvents(parts(), filter, { after: 0, limit: 500 });
      expect(entries.map(({ sequence }) => sequence)).toEqual(all);
    }
    for (const after of [0, 7, 1_199, 1_200]) {
      const { entries } = await findEvents(parts(), {}, { after, limit: 3 });
      expect(entries.map(({ sequence }) => sequence)).toEqual([1_201, 1_202, 1_203]);
    }
  });

  test("rows of the index are dropped with their entries, also in a partly dropped block, and indexing continues", async () => {
    await add(700, 40 * DAY);
    await add(350, DAY);
    await indexAudit(parts());
    const before = await indexRows();
    await drop();
    const between = await indexRows();
    expect(between).toBeLessThan(before);
    clock.advance(30 * DAY + 1);
    await drop();
    // The index keeps one row of the last block, whose entries are all dropped.
    expect(await rows()).toEqual([1_051 + 1]);
    const { auditIndex } = parts();
    expect(await auditIndex.indexed()).toBe(1_000);
    expect(await indexRows()).toBe(1);
    await add(600, 0);
    await indexAudit(parts());
    expect(await auditIndex.indexed()).toBe(1_500);
    const { entries } = await findEvents(parts(), { event: ["api.create"] }, { after: 0, limit: 500 });
    expect(entries[0]?.sequence).toBe(1_053);
    expect(entries).toHaveLength(500);
  });

  test("entries dropped before they were indexed are skipped by the indexer", async () => {
    await add(1_600, 40 * DAY);
    await add(500, DAY);
    await drop();
    await indexAudit(parts());
    expect(await parts().auditIndex.indexed()).toBe(2_000);
    const { entries } = await findEvents(parts(), { event: ["api.create"] }, { after: 0, limit: 500 });
    expect([entries[0]?.sequence, entries.length]).toEqual([1_601, 500]);
  });

  test("an interrupted round is completed by the next one; readers see no dropped entry", async () => {
    await add(1_100, 40 * DAY);
    await add(10, DAY);
    const node = retention();
    let steps = 0;
    await node(() => steps++ < 4, append());
    const left = await rows();
    expect(left.length).toBeGreaterThan(11);
    const { entries } = await findEvents(parts(), {}, { after: 0, limit: 1 });
    expect(entries[0]?.sequence).toBe(((await stub())?.sequence ?? 0) + 1);
    expect((await verdict()).faults).toEqual([]);
    for (let round = 0; round < 5; round++) await node(always, append());
    expect((await rows())[0]).toBe(1_101);
    expect((await verdict()).faults).toEqual([]);
  });

  test("a node that dies between any two operations leaves a log that verifies, and the next finishes", async () => {
    for (let at = 0, reached = true; reached; at++) {
      // Entries of the previous round are old as well.
      clock.advance(31 * DAY);
      await add(3, 40 * DAY);
      await add(2, 40 * DAY, { dated: false });
      reached = false;
      let operations = 0;
      const dying = interceptStore(store, async (operation) => {
        if (operations++ < at) return operation();
        reached = true;
        throw new StoreUnavailableError("died");
      });
      await drop(dying).catch(() => undefined);
      head = (await parts().auditLog.head()) ?? undefined;
      expect([at, (await verdict()).faults]).toEqual([at, []]);
      clock.advance(31 * DAY);
      await drop();
      head = (await parts().auditLog.head()) ?? undefined;
      expect([at, (await verdict()).faults]).toEqual([at, []]);
      expect((await rows())[0]).toBe((await stub()).sequence + 1);
    }
  });

  test("two nodes that drop at once leave a log that verifies", async () => {
    await add(600, 40 * DAY);
    await add(5, DAY);
    // One of them may find that the other has said so.
    await Promise.allSettled([drop(), drop(await engine.openBeside(store))]);
    await drop();
    expect((await verdict()).faults).toEqual([]);
    expect((await rows())[0]).toBe(601);
  });

  test("a check between whose reads more is dropped finds nothing wrong", async () => {
    for (const from of [undefined, 15, "all"]) {
      await add(10, 40 * DAY);
      await add(10, DAY);
      await drop();
      clock.advance(40 * DAY);
      let isDropped = false;
      const between = interceptStore(store, async (operation, { collection }) => {
        if (collection === "audit" && !isDropped) {
          isDropped = true;
          await drop();
        }
        return operation();
      });
      const { auditLog } = parts(between);
      const first = (await stub()).sequence;
      if (from === "all") expect((await verifyAudit(auditLog)).faults).toEqual([]);
      else {
        const check = await checkChain(auditLog, { from: from === undefined ? from : first + 5, limit: 100 });
        expect(check).toMatchObject({ broken: undefined, to: (await auditLog.head())?.sequence });
      }
      expect(isDropped).toBe(true);
    }
  });

  test("altered entries, and those after them, are no longer dropped: they would disappear without a trace", async () => {
    await add(10, 40 * DAY);
    const fifth = (await parts().auditLog.findBySequence([5]))[0] as AuditLogDocument;
    await store.collection("audit").updateOne({ _id: fifth._id }, { $set: { event: { ...fifth.event, display: "Nothing" } } });
    await drop();
    expect([(await rows())[0], broken.splice(0)]).toEqual([5, [5]]);
    expect((await verdict()).faults[0]).toMatchObject({ sequence: 5 });
    await store.collection("audit").updateOne({ _id: fifth._id }, { $set: { event: fifth.event } });
    await store.collection("audit").deleteMany({ sequence: 7 });
    await drop();
    expect([(await rows())[0], broken.splice(0)]).toEqual([8, [8]]);
    expect((await verdict()).faults[0]?.broken).toMatchObject({ sequence: 7 });
  });

  test("an entry is as old as its event, whatever its time of insertion says", async () => {
    await add(3, DAY);
    for (const { _id } of await parts().auditLog.listAfter(0, 3)) {
      await store.collection("audit").updateOne({ _id }, { $set: { insertedAt: 0 } });
    }
    await drop();
    expect(await rows()).toEqual([1, 2, 3]);
  });

  describe("is not whole where", () => {
    beforeEach(async () => {
      await add(10, 40 * DAY);
      await add(10, DAY);
      await drop();
      expect((await verdict()).faults).toEqual([]);
    });
    const expectFault = async (sequence: number) => {
      expect((await verdict()).faults[0]?.broken.sequence).toBe(sequence);
      expect((await checkChain(parts().auditLog, { from: undefined, limit: 100 })).broken?.sequence).toBe(sequence);
    };
    const setStub = async (change: Partial<AuditStub>) => {
      const system = store.collection("system");
      const changed = { ...(await stub()), ...change };
      await system.updateOne({ _id: "auditStub" }, { $set: { stub: changed } });
    };

    test("more was removed than dropped", async () => {
      await store.collection("audit").deleteMany({ sequence: { $lte: 12 } });
      await expectFault(11);
    });

    test("more was removed than dropped, and the stub was forged", async () => {
      const twelfth = (await parts().auditLog.findBySequence([12]))[0] as AuditLogDocument;
      await store.collection("audit").deleteMany({ sequence: { $lte: 12 } });
      await setStub({ sequence: 12, hash: twelfth.hash });
      await expectFault(12);
    });

    test("the stub names another hash, or an event that says something else, or none", async () => {
      const { statement } = await stub();
      await setStub({ hash: "f".repeat(64) });
      await expectFault(10);
      await setStub({ hash: (await parts().auditLog.listAfter(10, 1))[0]?.previousHash ?? "", statement: "log_none" });
      await expectFault(10);
      await setStub({ statement: (await parts().auditLog.listAfter(10, 1))[0]?._id ?? "" });
      await expectFault(10);
      await setStub({ statement });
      expect((await verdict()).faults).toEqual([]);
    });

    test("the stub is gone", async () => {
      await store.collection("system").deleteOne({ _id: "auditStub" });
      await expectFault(1);
    });

    test("the event that says so was altered to fit", async () => {
      const { statement } = await stub();
      const entry = (await parts().auditLog.findEntry(statement)) as AuditLogDocument;
      const twelfth = (await parts().auditLog.findBySequence([12]))[0] as AuditLogDocument;
      const event = { ...entry.event, resources: [resource("auditLog", "12", twelfth.hash)] };
      await store.collection("audit").updateOne({ _id: statement }, { $set: { event } });
      await store.collection("audit").deleteMany({ sequence: { $lte: 12 } });
      await setStub({ sequence: 12, hash: twelfth.hash });
      await expectFault(12);
    });

    test("the event that says so is no event any more", async () => {
      const { statement } = await stub();
      const entry = (await parts().auditLog.findEntry(statement)) as AuditLogDocument;
      for (const event of [
        { ...entry.event, resources: "none" },
        { ...entry.event, resources: [null] },
        { ...entry.event, actor: null },
        { id: statement },
      ]) {
        await store.collection("audit").updateOne({ _id: statement }, { $set: { event: event as never } });
        await expectFault(10);
      }
    });

    test("an entry behind it was altered", async () => {
      const entry = (await parts().auditLog.findBySequence([13]))[0] as AuditLogDocument;
      await store.collection("audit").updateOne({ _id: entry._id }, { $set: { event: { ...entry.event, display: "Nothing" } } });
      await expectFault(13);
    });
  });
});
