import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import { spawnLatchkey, startService } from "../../bench/harness/latchkeyProcess.ts";
import { withStoreOf } from "../../bench/harness/placed.ts";
import { createIdentitiesRepository } from "../../src/features/identities/identitiesRepository.ts";
import { nameKeyOf } from "../../src/features/keys/keySearchRepository.ts";
import { createBackfillsRepository } from "../../src/operations/sweep/backfillsRepository.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { StoreNotMigratedError } from "../../src/platform/storage/schemaVersion.ts";
import { sampleKey } from "../storage/contract/samples.ts";
import { places } from "../support/places.ts";
import { sized } from "../support/sized.ts";

const KEYS = 1_234;

type Env = Readonly<Record<string, string>>;

const withMongo = async <T>(env: Env, use: (database: ReturnType<MongoClient["db"]>) => Promise<T>): Promise<T> => {
  const client = new MongoClient(env.MONGODB_URL ?? "");
  try {
    return await use(client.db());
  } finally {
    await client.close();
  }
};

/** As version 0.3 left it: another schema, an index that has gone, others that are missing, names that nothing finds. */
const makeOld = async (env: Env): Promise<void> => {
  await withStoreOf(env, async (store) => {
    const keys = Array.from({ length: KEYS }, (_, i) => {
      const { nameKey: _nameKey, ...key } = sampleKey({ name: `Name ${i}` });
      return { ...key, v: 2 };
    });
    await store.collection("keys").insertMany(keys);
    await createIdentitiesRepository(store).insert({ id: "id_1", externalId: "User.1" }, 1, []);
    await store.collection("identities").updateOne({ _id: "id_1" }, { $unset: { externalKey: "" } });
    await store.collection("system").deleteOne({ _id: "schema" });
    await store.collection("system").insertOne({ _id: "schema", v: 2, schema: 2, workspaceId: WORKSPACE_ID });
  });
  if (env.MONGODB_URL !== undefined) {
    await withMongo(env, async (database) => {
      await database.collection("keys").dropIndex("nameOfApi");
      await database.collection("keys").createIndex({ apiId: 1 }, { name: "api" });
    });
    return;
  }
  const database = new DatabaseSync(`${env.DATA_DIR}/latchkey.sqlite`);
  database.exec('DROP INDEX "keys.nameOfApi"; ALTER TABLE keys DROP COLUMN nameKey; CREATE INDEX "keys.api" ON keys (apiId)');
  database.close();
};

/** Everything that a migration may change. */
const stateOf = async (env: Env): Promise<unknown> => {
  if (env.MONGODB_URL !== undefined) {
    return withMongo(env, async (database) => [
      (await database.collection("keys").indexes()).map(({ name }) => name).sort(),
      await database
        .collection("keys")
        .find({}, { sort: { _id: 1 } })
        .toArray(),
      await database.collection<{ _id: string }>("system").findOne({ _id: "schema" }),
    ]);
  }
  const database = new DatabaseSync(`${env.DATA_DIR}/latchkey.sqlite`, { readOnly: true });
  const state = ["SELECT sql FROM sqlite_schema ORDER BY name", "SELECT doc FROM keys ORDER BY id", "SELECT doc FROM system"].map((sql) =>
    database.prepare(sql).all(),
  );
  database.close();
  return state;
};

const expectSearchable = (env: Env): Promise<void> =>
  withStoreOf(env, async (store) => {
    const keys = await store.collection("keys").find({}).toArray();
    expect(keys.filter(({ name, nameKey }) => nameKey !== nameKeyOf(name ?? ""))).toEqual([]);
    expect(keys.length).toBe(KEYS);
    expect(await store.collection("identities").findOne({ _id: "id_1" })).toMatchObject({ externalKey: "user.1" });
  });

const walkOf = async (store: Store) => (await createBackfillsRepository(store).find())?.backfill;

describe.each(places)("latchkey migrate on $name", ({ name, open, close }) => {
  const opened: Env[] = [];
  let env: Env;
  beforeEach(async () => {
    env = await open();
    opened.push(env);
    await makeOld(env);
  });
  afterAll(() => Promise.all(opened.map(close)));

  const plan = [
    `schema: from 2 to ${SCHEMA_VERSION}`,
    ...(name === "embedded" ? ["add to the table of 1,234 documents in keys: nameKey"] : []),
    "build indexes of 1,234 documents in keys: nameOfApi",
    "drop indexes, which others took the place of, of 1,234 documents in keys: api",
    "make searchable by name and externalId: 1,235 keys and identities",
  ];

  test("[data §2] --dry-run says what there is to do, with counts, and changes nothing", async () => {
    const before = await stateOf(env);
    const { code, printed, complained } = await runCommand(["migrate", "--dry-run"], env);
    expect([code, complained]).toEqual([0, []]);
    expect(printed).toEqual([...plan, expect.stringMatching(/: this was a dry run: nothing was changed$/)]);
    expect(await stateOf(env)).toEqual(before);
  });

  test("[data §2] does at once and to its end what a start and its nodes would do, and then has nothing left", async () => {
    const { code, printed, complained } = await runCommand(["migrate"], env);
    expect([code, complained]).toEqual([0, []]);
    expect(printed).toEqual([...plan, expect.stringMatching(/: done$/)]);
    await expectSearchable(env);
    const after = await stateOf(env);
    expect((await runCommand(["migrate", "--dry-run"], env)).printed).toEqual([expect.stringMatching(/: nothing to do$/)]);
    expect((await runCommand(["migrate"], env)).printed).toEqual([expect.stringMatching(/: nothing to do$/)]);
    expect(await stateOf(env)).toEqual(after);
  });

  test("[data §2] a store of a newer version is refused, and nothing in it changes", async () => {
    await withStoreOf(env, (store) => store.collection("system").updateOne({ _id: "schema" }, { $set: { schema: SCHEMA_VERSION + 1 } }));
    const before = await stateOf(env);
    for (const args of [["migrate", "--dry-run"], ["migrate"]]) {
      const { code, complained } = await runCommand(args, env);
      expect([code, complained]).toEqual([1, [expect.stringContaining("the store was written by a newer version")]]);
    }
    expect(await stateOf(env)).toEqual(before);
  });

  test("[data §2] killed at any moment and repeated, it comes to the same end", async () => {
    for (let attempt = 0; attempt < sized(2, 10); attempt++) {
      const child = spawnLatchkey(["migrate"], env);
      const ended = new Promise((resolve) => child.once("close", resolve));
      await sleep(400 + Math.random() * 600);
      child.kill("SIGKILL");
      await ended;
      // As if the lease of the one that was killed had run out.
      await withStoreOf(env, (store) => store.collection("leases").deleteOne({ _id: "backfill" })).catch(() => undefined);
    }
    expect(await runCommand(["migrate"], env)).toMatchObject({ code: 0 });
    await expectSearchable(env);
    expect((await runCommand(["migrate"], env)).printed).toEqual([expect.stringMatching(/: nothing to do$/)]);
  });

  test("[data §2] next to a running service it completes the migration that the service runs in the background", async () => {
    const { DATA_DIR: dataDir, ...settings } = env;
    await using service = await startService({ env: settings, ...(dataDir !== undefined && { dataDir }) });
    const { code } = await runCommand(["migrate"], env);
    expect(code).toBe(0);
    await expectSearchable(env);
    expect(await service.stop()).toBe(0);
  });

  if (name === "embedded") return;

  test("[data §2] while nodes of an older version run, it says that it has to be run again, and then goes over all once more", async () => {
    const row = { v: 2, workspaceId: WORKSPACE_ID, version: "0.3.0", expireAt: new Date(Date.now() + 600_000) };
    await withMongo(env, (database) => database.collection<{ _id: string }>("nodes").insertOne({ _id: "node_old", ...row }));
    const first = await runCommand(["migrate"], env);
    expect(first).toMatchObject({ code: 0, complained: [expect.stringContaining("nodes of an older version are running")] });
    await withStoreOf(env, async (store) => {
      expect(await walkOf(store)).toMatchObject({ pass: 1, endedAt: expect.any(Number) });
      await store.collection("keys").updateOne({ name: "Name 7" }, { $set: { name: "Renamed", v: 2 } });
    });
    await withMongo(env, (database) => database.collection<{ _id: string }>("nodes").deleteOne({ _id: "node_old" }));
    const second = await runCommand(["migrate"], env);
    expect(second).toMatchObject({ code: 0, complained: [] });
    expect(second.printed[0]).toBe("make searchable by name and externalId: 1,235 keys and identities");
    await withStoreOf(env, async (store) => expect(await walkOf(store)).toMatchObject({ pass: 2, endedAt: expect.any(Number) }));
    await expectSearchable(env);
  });

  test("[data §2] with MIGRATE=off nodes wait for it, and commands are refused", async () => {
    const settings = { ...env, MIGRATE: "off" };
    const before = await stateOf(env);
    const waiting = openMongoStore({ url: env.MONGODB_URL ?? "", migrates: false });
    for (const _ of [1, 2]) await expect(waiting.prepare()).rejects.toThrow(StoreNotMigratedError);
    const starting = startService({ env: settings });
    const refused = await runCommand(["api", "protect", "api_1"], settings);
    expect(refused).toMatchObject({
      code: 1,
      complained: [
        'latchkey: the store is not up to date (schema 2, not 3, build index keys.nameOfApi, drop index keys.api): run "latchkey migrate", or leave MIGRATE at on',
      ],
    });
    expect(await stateOf(env)).toEqual(before);
    expect((await runCommand(["migrate"], settings)).code).toBe(0);
    await waiting.prepare();
    await waiting.close();
    await using service = await starting;
    expect(service.output.stderr).toContain("service started");
  });
});
