import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { createApisRepository } from "../../src/features/apis/apisRepository.ts";
import { changeApi } from "../../src/features/apis/changeApi.ts";
import { systemSource } from "../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../src/features/audit/auditMover.ts";
import { chainHash } from "../../src/features/audit/chainHash.ts";
import { verifyAudit } from "../../src/features/audit/verifyAudit.ts";
import { createNodesRepository, type NodeRow } from "../../src/features/nodes/nodesRepository.ts";
import type { ApiDocument, AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import type { LeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const clock = createTestClock();
const row = (id: string, auditFormat?: number): NodeRow => ({
  ...{ _id: id, version: "1", startedAt: 1, lastSeenAt: clock.now(), host: "host", inFlight: 0, eventLoopLagMs: 0 },
  ...{ changesLagMs: 0, cacheEntries: 0, cacheBytes: 0, verificationsPerSecond: 0, limitsPerSecond: 0 },
  ...{ store: { kind: "embedded", up: true, latencyMs: 0 }, analytics: { kind: "none", up: false, dropped: 0 } },
  ...(auditFormat === undefined ? {} : { auditFormat }),
});

const noLeases: LeasesRepository = { acquire: async () => true, release: async () => undefined };

/** Moves events as versions before the second form did: whole out of the outbox, and nothing else. */
const moveAsBefore = async (store: Store): Promise<void> => {
  const { head, append } = createAuditLogRepository(store);
  const apis = store.collection("apis");
  for (const { _id, outbox = [] } of await apis.find({ pendingMark: { $exists: true } }).toArray()) {
    for (const event of outbox) {
      const { hash: previousHash, sequence: before } = (await head()) ?? { hash: "0".repeat(64), sequence: 0 };
      const sequence = before + 1;
      const hash = chainHash(previousHash, sequence, event);
      await append([{ _id: event.id, v: 3, workspaceId: "ws_default", event, previousHash, hash, sequence, insertedAt: clock.now() }]);
    }
    await apis.updateOne({ _id }, { $unset: { outbox: "", pendingMark: "" } });
  }
};

describe.each(engines)("[management §4] forms of entries on $name", (engine) => {
  let store: Store;
  let apiId = "";
  let named = 0;
  beforeEach(async () => {
    store = await engine.open();
    apiId = `api_${++named}`;
    await createApisRepository(store).insert({ id: apiId, name: "0" }, clock.now(), []);
    return () => store.close();
  });
  afterAll(() => engine.close());

  const rename = (name: string) => createApisRepository(store).modify(apiId, changeApi({ name }, systemSource(clock)));
  const move = (on: Store = store) => {
    const nodes = createNodesRepository(on);
    const auditLog = createAuditLogRepository(on);
    return createAuditMover({ clock, auditLog, leases: noLeases, knownFormat: () => nodes.knownAuditFormat(clock.now()) }).run();
  };
  const entries = (): Promise<AuditLogDocument[]> => createAuditLogRepository(store).listAfter(0, 500);
  const forms = async () => (await entries()).map(({ format, event: { changes } }) => [format, changes]);
  const faults = async () => (await verifyAudit(createAuditLogRepository(store))).faults;
  const api = async (): Promise<ApiDocument> => (await store.collection("apis").findOne({ _id: apiId })) as ApiDocument;
  const told = (before: string, after: string) => [JSON.stringify({ field: "name", before, after })];

  test("the newest form is written that all live nodes know, or of all if none is known", async () => {
    await rename("1");
    await move();
    await createNodesRepository(store).write(row("node_a", 3));
    await rename("2");
    await move();
    await createNodesRepository(store).write(row("node_b", 2));
    await rename("3");
    await move();
    expect(await forms()).toEqual([
      [3, told("0", "1")],
      [3, told("1", "2")],
      [2, told("2", "3")],
    ]);
    expect(await faults()).toEqual([]);
  });

  test("the old form is written while a live node does not say that it knows the new one, and until it is silent for 60 s", async () => {
    const nodes = createNodesRepository(store);
    await nodes.write(row("node_new", 3));
    await nodes.write(row("node_old"));
    await rename("1");
    await move();
    clock.advance(59_999);
    await nodes.write(row("node_new", 3));
    await rename("2");
    await move();
    clock.advance(1);
    await rename("3");
    await move();
    expect(await forms()).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [3, told("2", "3")],
    ]);
    expect(await faults()).toEqual([]);
    expect(await api()).not.toHaveProperty("outboxChanges");
  });

  test("an older version that moves events leaves no trace of changes in the log, and what it leaves in the document goes", async () => {
    await rename("1");
    await rename("2");
    await moveAsBefore(store);
    expect(await forms()).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
    expect((await api()).outboxChanges).toHaveLength(2);
    await rename("3");
    // The older version may keep running for any time.
    expect((await api()).outboxChanges).toHaveLength(1);
    await move();
    expect(await forms()).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [3, told("2", "3")],
    ]);
    expect(await api()).not.toHaveProperty("outboxChanges");
    expect(await faults()).toEqual([]);
  });

  test("a mover that dies between any two of its operations loses no changes", async () => {
    for (let at = 0, reached = true; reached; at++) {
      reached = false;
      await rename(`before ${at}`);
      await rename(`after ${at}`);
      let operations = 0;
      const dying = interceptStore(store, async (operation) => {
        if (operations++ < at) return operation();
        reached = true;
        throw new StoreUnavailableError("died");
      });
      await move(dying).catch(() => undefined);
      await move();
      expect((await forms()).slice(-1)).toEqual([[3, told(`before ${at}`, `after ${at}`)]]);
      expect(await api()).not.toHaveProperty("outboxChanges");
    }
    expect((await forms()).every(([format, changes]) => format === 3 && Array.isArray(changes))).toBe(true);
    expect(await faults()).toEqual([]);
  });

  test("a change that comes while its document is settled keeps what it tells", async () => {
    await rename("1");
    let once = true;
    const busy = interceptStore(store, async (operation, { collection, name }) => {
      if (once && collection === "apis" && name === "bulkWrite") {
        once = false;
        await rename("2");
      }
      return operation();
    });
    await move(busy);
    expect(once).toBe(false);
    expect((await api()).outboxChanges).toMatchObject([{ changes: told("1", "2") }]);
    await move();
    expect(await forms()).toEqual([
      [3, told("0", "1")],
      [3, told("1", "2")],
    ]);
  });

  test("altering, removing or adding changes, or the form, is detected", async () => {
    await createNodesRepository(store).write(row("node_old"));
    await rename("1");
    await move();
    await createNodesRepository(store).remove("node_old");
    for (const name of ["2", "3"]) await rename(name);
    await move();
    const whole = await entries();
    const audit = store.collection("audit");
    const tamper = async (sequence: number, change: (entry: AuditLogDocument) => object) => {
      await audit.deleteMany({});
      await audit.insertMany(whole.map((entry) => (entry.sequence === sequence ? (change(entry) as AuditLogDocument) : entry)));
      return (await faults()).map((fault) => fault.sequence);
    };
    const without = ({ event: { changes: _, ...event }, ...entry }: AuditLogDocument) => ({ ...entry, event });
    expect(await tamper(2, (entry) => ({ ...entry, event: { ...entry.event, changes: told("1", "two") } }))).toEqual([2]);
    expect(await tamper(2, (entry) => ({ ...entry, event: { ...entry.event, changes: [] } }))).toEqual([2]);
    expect(await tamper(2, (entry) => ({ ...entry, event: { ...entry.event, changes: "none" } }))).toEqual([2]);
    expect(await tamper(2, without)).toEqual([2]);
    expect(await tamper(2, ({ format: _, ...entry }) => entry)).toEqual([2, 2]);
    expect(await tamper(2, ({ format: _, ...entry }) => without(entry as AuditLogDocument))).toEqual([2]);
    expect(await tamper(2, (entry) => ({ ...entry, format: 2 }))).toEqual([2]);
    expect(await tamper(2, (entry) => ({ ...entry, format: 4 }))).toEqual([2]);
    expect(await tamper(2, ({ salt: _, ...entry }) => entry)).toEqual([2]);
    expect(await tamper(2, (entry) => ({ ...entry, salt: "another" }))).toEqual([2]);
    expect(await tamper(1, (entry) => ({ ...entry, format: 2 }))).toEqual([1]);
    // The first form's hash covers no changes: it has none.
    expect(await tamper(1, (entry) => ({ ...entry, event: { ...entry.event, changes: told("0", "1") } }))).toEqual([1]);
    expect(await tamper(2, (entry) => entry)).toEqual([]);
  });
});
