import { expect, test } from "vitest";
import { createId } from "../../src/platform/base/ids.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { watchLeases } from "../../src/platform/telemetry/watchLeases.ts";
import { createStoreObserver, type StoreObserverOptions } from "../../src/service/storeObserver.ts";

const DAY_MS = 86_400_000;

const create = (parts: Partial<StoreObserverOptions> = {}) => {
  const metrics = createMetrics({ version: "1", engine: "embedded", ratelimitStoreDown: "allow" });
  const time = { now: 10_000_000 };
  const observer = createStoreObserver({
    clock: { now: () => time.now, monotonic: () => time.now },
    metrics,
    usage: async () => ({ files: { database: 4096, wal: 0 }, disk: { free: 5, size: 10 } }),
    auditLog: { head: async () => null, listPending: async () => [], listPendingMarks: () => expect.unreachable("none has any") },
    rootKeys: { list: async () => [] },
    sessions: undefined,
    onError: () => undefined,
    ...parts,
  });
  const samples = async (name: string): Promise<readonly string[]> =>
    (await metrics.render()).split("\n").filter((line) => line.startsWith(`latchkey_${name}`));
  return { observer, samples, time };
};

test("nothing is shown before the first look, and what does not apply is not shown afterwards", async () => {
  const { observer, samples } = create();
  expect(await samples("store_file_bytes{")).toEqual([]);
  await observer.look();
  expect(await samples("store_file_bytes{")).toEqual([
    'latchkey_store_file_bytes{file="database"} 4096',
    'latchkey_store_file_bytes{file="wal"} 0',
  ]);
  expect(await samples("store_disk_free_bytes")).toEqual(["latchkey_store_disk_free_bytes 5"]);
  expect([await samples("store_connections"), await samples("console_sessions"), await samples("audit_head")]).toEqual([[], [], []]);
  expect(await samples("audit_outbox")).toEqual(["latchkey_audit_outbox_documents 0", "latchkey_audit_outbox_age_seconds 0"]);
});

test("the outbox is counted over all collections, and the age of its oldest event grows with time", async () => {
  const marks: Readonly<Record<string, readonly string[]>> = {
    keys: [createId("log", 9_990_000), createId("log", 9_999_000)],
    apis: [createId("log", 9_995_000)],
  };
  const { observer, samples, time } = create({
    auditLog: {
      head: async () => ({ sequence: 7, insertedAt: 9_000_000 }) as AuditLogDocument,
      listPending: async () => ["apis", "keys"],
      listPendingMarks: async (collection) => marks[collection] ?? [],
    },
  });
  await observer.look();
  time.now += 5_000;
  expect(await samples("audit_")).toEqual([
    "latchkey_audit_outbox_documents 3",
    "latchkey_audit_outbox_age_seconds 15",
    "latchkey_audit_head_timestamp_seconds 9000",
    "latchkey_audit_head_sequence 7",
  ]);
});

test("root keys that expire are counted by how soon; those that are disabled or have expired are not", async () => {
  let reads = 0;
  const rootKey = (expires: number | undefined, enabled = true) => ({ enabled, ...(expires === undefined ? {} : { expires }) });
  const { observer, samples, time } = create({
    rootKeys: {
      list: async () => {
        reads++;
        const base = 10_000_000;
        return [
          ...[rootKey(undefined), rootKey(base - 1), rootKey(base + 1_000), rootKey(base + 3 * DAY_MS), rootKey(base + 40 * DAY_MS)],
          rootKey(base + 1_000, false),
        ] as never;
      },
    },
  });
  await observer.look();
  const within = (...counts: readonly number[]) =>
    ["1d", "7d", "30d"].map((time, i) => `latchkey_root_keys_expiring{within="${time}"} ${counts[i]}`);
  expect(await samples("root_keys_expiring{")).toEqual(within(1, 2, 2));
  time.now += 60_000;
  await observer.look();
  expect([reads, await samples("root_keys_expiring{")]).toEqual([1, within(0, 1, 1)]);
});

test("a look that fails changes nothing of what was seen, and its time tells how old that is", async () => {
  let isAway = false;
  const { observer, samples, time } = create({
    auditLog: {
      head: async () => null,
      listPending: async () => ["keys"],
      listPendingMarks: async () => {
        if (isAway) throw new Error("away");
        return [];
      },
    },
  });
  await observer.look();
  isAway = true;
  time.now += 60_000;
  await expect(observer.look()).rejects.toThrow("away");
  expect(await samples("store_observed_timestamp_seconds")).toEqual(["latchkey_store_observed_timestamp_seconds 10000"]);
  expect(await samples("audit_outbox_documents")).toEqual(["latchkey_audit_outbox_documents 0"]);
});

test("a lease is held from when it is taken until its time is over, it is given back, or another node has it", async () => {
  let now = 0;
  let isFree = true;
  const { leases, held } = watchLeases({ acquire: async () => isFree, release: async () => undefined }, { monotonic: () => now });
  expect(held()).toEqual([]);
  await leases.acquire("audit", "node_1", 0, 1_000);
  expect(held()).toEqual([[["audit"], 1]]);
  now = 1_000;
  expect(held()).toEqual([[["audit"], 0]]);
  await leases.acquire("audit", "node_1", 0, 1_000);
  await leases.release("audit", "node_1");
  expect(held()).toEqual([[["audit"], 0]]);
  isFree = false;
  await leases.acquire("audit", "node_1", 0, 1_000);
  expect(held()).toEqual([[["audit"], 0]]);
});

test("a stop waits for the read under way, and begins no other", async () => {
  const first = Promise.withResolvers<readonly string[]>();
  const asked: string[] = [];
  const { observer } = create({
    auditLog: {
      head: async () => expect.unreachable("nobody reads the head any more"),
      listPending: async () => ["apis", "keys"],
      listPendingMarks: (collection) => {
        asked.push(collection);
        return first.promise;
      },
    },
  });
  observer.start();
  await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(1);
  const stopped = observer.stop();
  first.resolve([]);
  await stopped;
  expect(asked).toHaveLength(1);
});
