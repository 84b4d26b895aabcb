import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "../../../src/platform/base/clock.ts";
import { type EmbeddedStoreOptions, openEmbeddedStore } from "../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import { columnValues } from "../../../src/platform/storage/embedded/sqlite/columns.ts";
import { createWriteQueue } from "../../../src/platform/storage/embedded/sqlite/writeQueue.ts";
import { createWriterThreads } from "../../../src/platform/storage/embedded/sqlite/writerThreads.ts";
import { SCHEMA_VERSION } from "../../../src/platform/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { indexes, retired } from "../../../src/platform/storage/port/indexes.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleCounter, sampleKey, sampleNamespace, unique } from "../contract/samples.ts";

describe("the embedded store's file", () => {
  let parent: string;
  let directory: string;
  const stores: Store[] = [];
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), "latchkey-file-"));
    directory = join(parent, "some", "data");
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await rm(parent, { recursive: true });
  });

  const open = (options: Partial<EmbeddedStoreOptions> = {}): Store => {
    const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server", ...options });
    stores.push(store);
    return store;
  };

  test("is made for its owner only, with its directory", async () => {
    await open().prepare();
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    for (const file of await readdir(directory)) expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
  });

  test("is one file, and that of counters, once the store is closed, and opens again with all documents", async () => {
    const first = open();
    await first.prepare();
    const key = sampleKey();
    await first.collection("keys").insertOne(key);
    await first.close();
    expect((await readdir(directory)).sort()).toEqual(["counters.sqlite", "latchkey.lock", "latchkey.sqlite"]);
    const second = open();
    await second.prepare();
    expect(await second.collection("keys").findOne({ _id: key._id })).toEqual(key);
  });

  test("gets the columns that came later, with the values of the documents that were there", async () => {
    await mkdir(directory, { recursive: true });
    const [key, deleted] = [sampleKey({ remaining: 5 }), sampleKey({ deletedAt: 1_750_000_000_000 })];
    const old = new DatabaseSync(join(directory, "latchkey.sqlite"));
    old.exec('CREATE TABLE "keys" (id TEXT PRIMARY KEY, doc TEXT NOT NULL, "workspaceId") WITHOUT ROWID');
    for (const each of [key, deleted]) {
      old.prepare('INSERT INTO "keys" VALUES (?, ?, ?)').run(each._id, JSON.stringify(each), each.workspaceId);
    }
    old.close();
    const store = open();
    await store.prepare();
    const keys = store.collection("keys");
    expect(await keys.findOne({ workspaceId: key.workspaceId, hash: key.hash as string })).toEqual(key);
    await expect(keys.insertOne(sampleKey({ hash: key.hash as string }))).rejects.toThrow("hash");
    expect(await keys.find({ deletedAt: { $exists: false } }).toArray()).toEqual([key]);
    expect(
      await keys.findOneAndUpdate({ _id: key._id, remaining: { $gte: 6 } }, { $inc: { remaining: -6 } }, { returnDocument: "after" }),
    ).toBe(null);
    expect(
      await keys.findOneAndUpdate({ _id: key._id, remaining: { $gte: 5 } }, { $inc: { remaining: -5 } }, { returnDocument: "after" }),
    ).toMatchObject({ remaining: 0 });
  });

  test("has the indexes of this version, and those no more whose place they took", async () => {
    const first = open();
    await first.prepare();
    await first.collection("keys").insertOne(sampleKey());
    await first.close();
    const file = join(directory, "latchkey.sqlite");
    const old = new DatabaseSync(file);
    for (const { collection, name } of retired) old.exec(`CREATE INDEX "${collection}.${name}" ON "${collection}" (id)`);
    for (const { collection, name } of indexes) if (name.startsWith("live")) old.exec(`DROP INDEX "${collection}.${name}"`);
    old.close();
    const second = open();
    await second.prepare();
    await second.close();
    const now = new DatabaseSync(file, { readOnly: true });
    const present = now.prepare("SELECT name FROM sqlite_schema WHERE type='index' AND sql IS NOT NULL").all();
    now.close();
    expect(present.map(({ name }) => name).sort()).toEqual(indexes.map(({ collection, name }) => `${collection}.${name}`).sort());
  });

  test("serves one server at a time; a second one says which directory is taken", async () => {
    const first = open();
    await first.prepare();
    await expect(open().prepare()).rejects.toThrow(`another server uses the data directory ${directory}`);
    await first.collection("keys").insertOne(sampleKey());
    await first.close();
    await open().prepare();
  });

  test("can be opened by a tool before, during and after a server", async () => {
    const before = open({ mode: "tool" });
    await before.prepare();
    const server = open();
    await server.prepare();
    const beside = open({ mode: "tool" });
    await beside.prepare();
    const namespace = sampleNamespace();
    await beside.collection("namespaces").insertOne(namespace);
    expect(await server.collection("namespaces").findOne({ _id: namespace._id })).toEqual(namespace);
    expect(await before.collection("namespaces").findOne({ _id: namespace._id })).toEqual(namespace);
  });

  test("is not changed by a tool while a server of an older version runs, which would not know the new form", async () => {
    const server = open();
    await server.prepare();
    const system = server.collection("system");
    await system.updateOne({ _id: "schema" }, { $set: { schema: SCHEMA_VERSION - 1 } });
    await expect(open({ mode: "tool" }).prepare()).rejects.toThrow("is of an older version: restart it with this one first");
    expect(await system.findOne({ _id: "schema" })).toMatchObject({ schema: SCHEMA_VERSION - 1 });
    await server.close();
    const tool = open({ mode: "tool" });
    await tool.prepare();
    expect(await tool.collection("system").findOne({ _id: "schema" })).toMatchObject({ schema: SCHEMA_VERSION });
  });

  test("is not open before it is prepared", async () => {
    await expect(open().collection("keys").findOne({})).rejects.toThrow(StoreUnavailableError);
  });

  test("that is something else fails the preparation", async () => {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "latchkey.sqlite"), "something else".repeat(1000));
    await expect(open().prepare()).rejects.toThrow("not a database");
  });

  test("loses documents whose expiry has passed, by the server's clock", async () => {
    let now = 5_000;
    const clock: Clock = { ...systemClock, now: () => now };
    const server = open({ clock, expiryInterval: 5 });
    await server.prepare();
    const counters = server.collection("counters");
    const [early, late] = [sampleCounter({ expireAt: new Date(6_000) }), sampleCounter({ expireAt: new Date(6_001) })];
    const many = Array.from({ length: 1500 }, () => sampleCounter({ expireAt: new Date(5_999) }));
    await counters.insertMany([early, late, ...many]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await counters.find({}).toArray()).toHaveLength(1502);
    now = 6_000;
    await eventually(async () => expect(await counters.find({}).toArray()).toEqual([late]));
  });

  test("reports where it was opened, its size, and the versions that opened it", async () => {
    const file = join(directory, "latchkey.sqlite");
    const first = open();
    expect(first.facts?.()).toEqual({});
    await first.prepare();
    await first.collection("keys").insertOne(sampleKey());
    await first.prepare();
    const versions = { schema: SCHEMA_VERSION, sqlite: process.versions.sqlite };
    expect(first.facts?.()).toEqual({ file, bytes: 0, walBytes: 0, counterBytes: 0, ...versions });
    await first.collection("system").updateOne({ _id: "schema" }, { $set: { schema: SCHEMA_VERSION - 1 } });
    await first.close();
    const bytes = (await stat(file)).size;
    const raised = open();
    await raised.prepare();
    expect(raised.facts?.()).toEqual({
      ...{ file, bytes, walBytes: 0, counterBytes: expect.any(Number), ...versions, raisedFrom: SCHEMA_VERSION - 1 },
    });
  });

  describe("the write queue", () => {
    const queueOn = (file: string, patience = 50) => createWriteQueue({ file, patience });
    const insert = (id: string) =>
      ({ kind: "insert", collection: "keys", id, text: JSON.stringify({ _id: id }), columns: columnValues("keys", {}) }) as const;

    test("of the writes that share a commit, only the invalid one fails", async () => {
      const store = open();
      await store.prepare();
      const keys = store.collection("keys");
      const [first, second] = [sampleKey(), sampleKey()];
      const outcomes = await Promise.allSettled([
        keys.insertOne(first),
        keys.insertOne(sampleKey({ hash: first.hash as string })),
        keys.updateOne({ _id: first._id }, { $inc: { start: 1 } as object }),
        keys.insertOne(second),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
      expect(await keys.find({}, { sort: { _id: 1 } }).toArray()).toEqual([first, second]);
    });

    test("fails while another process keeps the file, with a known outcome, and works afterwards", async () => {
      const file = join(parent, "held.sqlite");
      const queue = queueOn(file);
      await queue.write({ kind: "define", collections: ["keys"] });
      const holder = new DatabaseSync(file);
      holder.exec("BEGIN IMMEDIATE");
      const failed = await Promise.allSettled([queue.write(insert("a")), queue.write(insert("b"))]);
      for (const outcome of failed) {
        expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StoreUnavailableError", outcomeUnknown: false } });
      }
      holder.exec("COMMIT");
      holder.close();
      await queue.write(insert("a"));
      await queue.close();
    });

    test("slow commits are logged once a minute, with their number", async () => {
      const told: [object, string][] = [];
      const log = { info: () => expect.unreachable(), warn: (facts: object, message: string) => void told.push([facts, message]) };
      let now = 0;
      const slowCommit = 0;
      const queue = createWriteQueue(
        { file: join(parent, "slow.sqlite"), patience: 50, slowCommit },
        { clock: { monotonic: () => now }, log },
      );
      await queue.write({ kind: "touch" });
      now = 59_999;
      await queue.write({ kind: "touch" });
      now = 60_000;
      await queue.write({ kind: "touch" });
      const line = (slowCommits: number) => [
        { milliseconds: expect.any(Number), slowCommits },
        "the embedded store's disk takes long to commit",
      ];
      expect(told).toEqual([line(1), line(2)]);
      await queue.close();
    });

    test("a writer that cannot open its file fails what waits; the next write starts another", async () => {
      const file = join(parent, "missing", "a.sqlite");
      const queue = queueOn(file);
      await expect(queue.write({ kind: "touch" })).rejects.toThrow(StoreUnavailableError);
      await mkdir(join(parent, "missing"));
      await queue.write({ kind: "touch" });
      await queue.close();
    });

    test("a writer that dies fails what it had; what was acknowledged is there, and the next write starts another", async () => {
      const file = join(parent, "died.sqlite");
      const { promise: created, resolve } = Promise.withResolvers<Worker>();
      process.once("worker", resolve);
      const queue = createWriteQueue({ file, patience: 50 }, { threads: createWriterThreads() });
      await queue.write({ kind: "define", collections: ["keys"] });
      const ids = Array.from({ length: 5000 }, () => unique("key"));
      const writes = Promise.allSettled(ids.map((id) => queue.write(insert(id))));
      // Until the first of them are on their way.
      for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate);
      await (await created).terminate();
      const outcomes = await writes;
      expect(outcomes.some(({ status }) => status === "rejected")).toBe(true);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: true });
      }
      await queue.write(insert(unique("key")));
      await queue.close();
      const reader = new DatabaseSync(file);
      const stored = new Set(
        reader
          .prepare('SELECT id FROM "keys"')
          .all()
          .map(({ id }) => id),
      );
      reader.close();
      expect(ids.filter((id, position) => outcomes[position]?.status === "fulfilled" && !stored.has(id))).toEqual([]);
    });

    /** Threads of its own for a test; `workers` are those that it started. */
    const countedThreads = () => {
      const workers: Worker[] = [];
      const note = (worker: Worker) => void workers.push(worker);
      process.on("worker", note);
      onTestFinished(() => void process.off("worker", note));
      return { threads: createWriterThreads(), workers };
    };

    test("a thread that has closed its file serves the next queue, with that one's settings", async () => {
      const { threads, workers } = countedThreads();
      const told: string[] = [];
      const log = { info: () => expect.unreachable(), warn: (_: object, message: string) => void told.push(message) };
      const first = createWriteQueue({ file: join(parent, "first.sqlite"), patience: 50, slowCommit: 0 }, { threads, log });
      await first.write({ kind: "define", collections: ["keys"] });
      await Promise.all([first.close(), first.close()]);
      expect(told).toHaveLength(1);
      const second = createWriteQueue({ file: join(parent, "second.sqlite"), patience: 50, slowCommit: 3_600_000 }, { threads, log });
      await expect(second.write(insert(unique("key")))).rejects.toThrow();
      await second.write({ kind: "define", collections: ["keys"] });
      await second.write(insert(unique("key")));
      await second.close();
      expect(told).toHaveLength(1);
      expect(workers).toHaveLength(1);
    });

    test("a thread that died while it waited for a file, or could not open one, refuses every call", async () => {
      const { threads, workers } = countedThreads();
      const queue = (name: string) => createWriteQueue({ file: join(parent, name), patience: 50 }, { threads });
      const first = queue("a.sqlite");
      await first.write({ kind: "touch" });
      await first.close();
      await workers[0]?.terminate();
      const second = queue(join("missing", "b.sqlite"));
      await expect(second.write({ kind: "touch" })).rejects.toThrow(StoreUnavailableError);
      await second.close();
      const third = queue("c.sqlite");
      await third.write({ kind: "touch" });
      await third.close();
      expect(workers).toHaveLength(3);
    });

    test("eight threads at most wait for a file", async () => {
      const { threads, workers } = countedThreads();
      const writeBesides = async (): Promise<void> => {
        const queues = Array.from({ length: 9 }, (_, i) =>
          createWriteQueue({ file: join(parent, `${i}.sqlite`), patience: 50 }, { threads }),
        );
        await Promise.all(queues.map((queue) => queue.write({ kind: "touch" })));
        await Promise.all(queues.map((queue) => queue.close()));
      };
      await writeBesides();
      await writeBesides();
      expect(workers).toHaveLength(10);
    });

    test("a write that waits is dropped when its signal is aborted", async () => {
      const queue = queueOn(join(parent, "dropped.sqlite"));
      await queue.write({ kind: "define", collections: ["keys"] });
      const controller = new AbortController();
      const reason = new Error("gone");
      const id = unique("key");
      const dropped = queue.write(insert(id), controller.signal);
      controller.abort(reason);
      await expect(dropped).rejects.toBe(reason);
      await queue.write(insert(id));
      await queue.close();
    });

    test("writes that wait when it is closed are still written, and none after that", async () => {
      const file = join(parent, "closed.sqlite");
      const queue = queueOn(file);
      await queue.write({ kind: "define", collections: ["keys"] });
      const writes = Promise.all(Array.from({ length: 3000 }, () => queue.write(insert(unique("key")))));
      await queue.close();
      await writes;
      await expect(queue.write({ kind: "touch" })).rejects.toThrow(StoreUnavailableError);
      const reader = new DatabaseSync(file);
      expect(reader.prepare('SELECT count(*) AS n FROM "keys"').get()).toEqual({ n: 3000 });
      reader.close();
    });
  });
});
