import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { restoreBackup } from "../../src/operations/backup/restoreBackup.ts";
import { readStore, storeSource } from "../../src/operations/backup/storeSource.ts";
import { createTally } from "../../src/operations/backup/tally.ts";
import { writeBackup } from "../../src/operations/backup/writeBackup.ts";
import { lookAtStore } from "../../src/operations/lookAtStore.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { SCHEMA_VERSION } from "../../src/platform/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { dieInRestore } from "../support/dieInRestore.ts";
import { sampleBackup, sharedBackup } from "../support/sampleBackup.ts";
import { freshDirectory, places } from "../support/storePlaces.ts";

const HOUR = 3_600_000;

const talliesOf = async (store: Store) => {
  const tally = createTally();
  for await (const batch of readStore(store)) tally.add(batch);
  return tally.result();
};

describe.each(places)("on %s", (_, make) => {
  const backup = sharedBackup(make);

  test("[data §1] a restore that dies after any of its writes is ended by the next", async () => {
    const { file } = backup();
    const checked = await checkBackup(file);
    const target = await make();
    const store = await target.open("restore");
    let attempts = 0;
    for (let isDone = false; !isDone; attempts++) {
      // Each attempt comes one write further than the one before it.
      let left = attempts;
      const mortal = interceptStore(store, async (operation, { kind }) => {
        if (left < 0) throw new StoreUnavailableError("the process died");
        const result = await operation();
        if (kind === "write" && --left < 0) throw new StoreUnavailableError("the process died");
        return result;
      });
      isDone = await restoreBackup(mortal, file, checked).then(
        () => true,
        async (error: unknown) => {
          expect(error).toBeInstanceOf(StoreUnavailableError);
          // The last write completes a restore, even if the process dies before it reports that.
          return (await store.collection("system").findOne({ _id: "schema" }))?.restoring === undefined;
        },
      );
    }
    expect(attempts).toBeGreaterThan(3);
    const { counters: _counters, ...lasting } = await talliesOf(store);
    expect(checked.end.tallies).toMatchObject(lasting);
    expect(lasting.keys?.documents).toBe(1_200);
  });

  test("[data §1] a store with half of a backup opens for nothing but the restore of that backup", async () => {
    const { file } = backup();
    const checked = await checkBackup(file);
    const target = await make();
    await dieInRestore(await target.open("restore"), file);
    await expect(target.open("server")).rejects.toThrow('run "latchkey restore" with the same file again');
    await expect(target.open("tool")).rejects.toThrow("a restore into this store did not end");
    const taken = await runLatchkeyHere(["backup", `${file}.half`], target.env);
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining("a restore into this store did not end") });
    const again = await target.open("restore");
    // Versions that do not know restores refuse a newer schema.
    expect((await again.collection("system").findOne({ _id: "schema" }))?.schema).toBeGreaterThan(SCHEMA_VERSION + 1_000);
    const another = { ...checked, end: { ...checked.end, sha256: "0".repeat(64) } };
    await expect(restoreBackup(again, file, another)).rejects.toThrow("the restore of another backup into this store did not end");
    expect(await restoreBackup(again, file, checked)).toMatchObject({ resumedAt: expect.any(Number) });
    await again.close();
    const whole = await target.open("server");
    expect(await whole.collection("system").findOne({ _id: "schema" })).toMatchObject({ schema: SCHEMA_VERSION });
  });

  test("[data §1] only an empty store that no node uses takes a backup", async () => {
    const { place, file } = backup();
    const checked = await checkBackup(file);
    const full = await place.open("tool");
    const before = await talliesOf(full);
    await expect(restoreBackup(full, file, checked)).rejects.toThrow("the store is not empty, it holds keys");
    expect((await talliesOf(full)).keys).toEqual(before.keys);
    const used = await (await make()).open("tool");
    const row = { v: SCHEMA_VERSION, workspaceId: "ws_default", startedAt: 1, lastSeenAt: 1 };
    await used.collection("nodes").insertOne({ ...row, _id: "n1", expireAt: new Date(used.clock.now() + HOUR) } as never);
    await expect(restoreBackup(used, file, checked)).rejects.toThrow("a node is running on the store: stop it first");
  });

  test("[data §1] a store whose objects are gone, but not what they counted, takes no backup either", async () => {
    const place = await make();
    const file = await sampleBackup(place);
    const checked = await checkBackup(file);
    const left = await place.open("tool");
    for (const name of ["keys", "sessions", "audit"] as const) await left.collection(name).deleteMany({});
    const { counters: before, ...rest } = await talliesOf(left);
    expect(before?.documents).toBeGreaterThan(0);
    await expect(restoreBackup(left, file, checked)).rejects.toThrow("the store is not empty, it holds counters");
    // One of the counters has expired, and may have been removed meanwhile.
    const { counters: after, ...same } = await talliesOf(left);
    expect(same).toEqual(rest);
    expect([before?.documents, 1]).toContain(after?.documents);
    await left.close();
    const refused = await runLatchkeyHere(["restore", file], place.env);
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("the store is not empty, it holds counters") });
  });

  test("[data §1] a restore that is repeated after its end is refused, with the time of that end", async () => {
    const { file } = backup();
    const { env } = await make();
    expect(await runLatchkeyHere(["restore", file], env)).toMatchObject({ code: 0 });
    const again = await runLatchkeyHere(["restore", file], env);
    expect(again.code).toBe(5);
    const year = new Date().getUTCFullYear();
    expect(again.stderr).toMatch(new RegExp(`it holds \\w+ \\(a restore into it ended at ${year}-[0-9T:.-]+Z\\): name another DATA_DIR`));
  });

  test("[data §1] a restore into a store that holds something changes nothing in it, nor does a backup of it", async () => {
    const place = await make();
    const file = await sampleBackup(place);
    const store = await place.open("tool");
    const system = store.collection("system");
    await system.updateOne({ _id: "schema" }, { $set: { schema: 1 } });
    await store.close();
    const refused = await runLatchkeyHere(["restore", file], place.env);
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("the store is not empty, it holds keys") });
    expect(await runLatchkeyHere(["backup", `${file}.again`], place.env)).toMatchObject({ code: 0 });
    expect((await checkBackup(`${file}.again`)).header.schema).toBe(1);
  });

  test("[data §1] a place without a store is not taken for an empty one, nor made one", async () => {
    const { env } = await make();
    for (let attempt = 0; attempt < 2; attempt++) {
      const taken = await runLatchkeyHere(["backup", join(env.DATA_DIR, "none.backup")], env);
      expect(taken).toMatchObject({ code: expect.any(Number), stderr: expect.stringMatching(/there is no (Latchkey )?store in/) });
    }
  });

  test("[data §1] a restored store has all its indexes, and one with two objects of one unique value is refused", async () => {
    const { place, file } = backup();
    const target = await make();
    expect(await runLatchkeyHere(["restore", file], target.env)).toMatchObject({ code: 0 });
    const { DATA_DIR: dataDir, MONGODB_URL: mongodbUrl } = target.env;
    expect(await lookAtStore({ dataDir, mongodbUrl, clock: systemClock }, async ({ changes }) => changes)).toEqual([]);
    const { facts } = await storeSource(await place.open("tool"), "the test");
    const permission = { v: SCHEMA_VERSION, workspaceId: "ws_default", slugKey: "same" };
    const texts = ["perm_1", "perm_2"].map((_id) => JSON.stringify({ ...permission, _id }));
    const read = () => [{ collection: "permissions", texts }] as const;
    await writeBackup({ facts, size: 2, read }, `${file}.double`, { product: "test", now: 1 });
    const store = await (await make()).open("restore");
    await expect(restoreBackup(store, `${file}.double`, await checkBackup(`${file}.double`))).rejects.toThrow(
      "the backup holds two objects with one value of the unique index slug: take another one",
    );
  });

  test("[data §1] no session comes back, what it had to tell does, and what has expired is left out", async () => {
    const { file } = backup();
    const store = await (await make()).open("restore");
    expect(await restoreBackup(store, file, await checkBackup(file))).toMatchObject({ expired: 1 });
    expect(await store.collection("counters").find({}).toArray()).toHaveLength(1);
    const sessions = await store.collection("sessions").find({}).toArray();
    expect(sessions).toMatchObject([{ _id: "sess_untold", erased: true, deletedAt: expect.any(Number) }]);
    expect(sessions[0]).not.toHaveProperty("hash");
  });

  test("[data §1] objects that expired before their events were in the audit log are kept for them", async () => {
    const place = await make();
    await sampleBackup(place);
    const source = await place.open("tool");
    await source.collection("sessions").updateOne({ _id: "sess_untold" }, { $set: { expireAt: new Date(source.clock.now() + 500) } });
    const file = join(await freshDirectory(), "untold.backup");
    await writeBackup(await storeSource(source, "the test"), file, { product: "test", now: 1 });
    const later = await (await make()).open("restore");
    const store: Store = { ...later, clock: { ...later.clock, now: () => later.clock.now() + HOUR } };
    expect(await restoreBackup(store, file, await checkBackup(file))).toMatchObject({ expiring: 1 });
    const [session] = await store.collection("sessions").find({}).toArray();
    expect(session).toMatchObject({ _id: "sess_untold" });
    expect(session?.expireAt.getTime()).toBeGreaterThan(later.clock.now() + 2 * HOUR);
  });

  test("[data §1] a backup while nodes drop entries of the audit log is refused", async () => {
    const place = await make();
    await sampleBackup(place);
    const store = await place.open("tool");
    const read = async (): Promise<void> => {
      for await (const { collection } of (await storeSource(store, "the test")).read()) {
        if (collection !== "keys") continue;
        const stub = { sequence: 7, hash: "", statement: "evt_8" };
        await store.collection("system").updateOne({ _id: "auditStub" }, { $set: { stub } as never }, { upsert: true });
      }
    };
    await expect(read()).rejects.toThrow("entries of the audit log were dropped meanwhile: take the backup again");
    await expect(read()).resolves.toBeUndefined();
  });
});
