import { describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { checkBackup } from "../../src/backup/checkBackup.ts";
import { restoreBackup } from "../../src/backup/restoreBackup.ts";
import { storeSource } from "../../src/backup/storeSource.ts";
import { createTally } from "../../src/backup/tally.ts";
import { SCHEMA_VERSION } from "../../src/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../src/storage/port/errors.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { sampleBackup } from "../support/sampleBackup.ts";
import { places } from "../support/storePlaces.ts";

const HOUR = 3_600_000;

const talliesOf = async (store: Store) => {
  const tally = createTally();
  for await (const batch of (await storeSource(store)).read()) tally.add(batch);
  return tally.result();
};

describe.each(places)("on %s", (_, make) => {
  test("[data §1] a restore that dies after any of its writes is ended by the next", async () => {
    const file = await sampleBackup(await make());
    const checked = await checkBackup(file);
    const target = await make();
    const store = await target.open("restore");
    let attempts = 0;
    for (let isDone = false; !isDone; attempts++) {
      // Each attempt comes a few writes further than the one before it.
      let left = 1 + (attempts % 3);
      const mortal = interceptStore(store, async (operation, { kind }) => {
        if (left < 0) throw new StoreUnavailableError("the process died");
        const result = await operation();
        if (kind === "write" && --left < 0) throw new StoreUnavailableError("the process died");
        return result;
      });
      isDone = await restoreBackup(mortal, file, checked).then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(StoreUnavailableError);
          return false;
        },
      );
    }
    expect(attempts).toBeGreaterThan(3);
    const { counters: _counters, ...lasting } = await talliesOf(store);
    expect(checked.end.tallies).toMatchObject(lasting);
    expect(lasting.keys?.documents).toBe(1_200);
  });

  test("[data §1] a store with half of a backup opens for nothing but the restore of that backup", async () => {
    const file = await sampleBackup(await make());
    const checked = await checkBackup(file);
    const target = await make();
    const half = await target.open("restore");
    let writes = 0;
    const mortal = interceptStore(half, async (operation, { kind }) => {
      if (kind === "write" && ++writes > 4) throw new StoreUnavailableError("the process died");
      return operation();
    });
    await expect(restoreBackup(mortal, file, checked)).rejects.toThrow("the process died");
    await half.close();
    await expect(target.open("server")).rejects.toThrow('run "latchkey restore" with the same file again');
    await expect(target.open("tool")).rejects.toThrow("a restore into this store did not end");
    const again = await target.open("restore");
    const another = { ...checked, end: { ...checked.end, sha256: "0".repeat(64) } };
    await expect(restoreBackup(again, file, another)).rejects.toThrow("the restore of another backup into this store did not end");
    expect(await restoreBackup(again, file, checked)).toMatchObject({ resumedAt: expect.any(Number) });
    await again.close();
    await target.open("server");
  });

  test("[data §1] only an empty store that no node uses takes a backup", async () => {
    const place = await make();
    const file = await sampleBackup(place);
    const checked = await checkBackup(file);
    const full = await place.open("tool");
    const before = await talliesOf(full);
    await expect(restoreBackup(full, file, checked)).rejects.toThrow("the store is not empty, it holds keys");
    expect((await talliesOf(full)).keys).toEqual(before.keys);
    const used = await (await make()).open("tool");
    const row = { v: SCHEMA_VERSION, workspaceId: "ws_default", startedAt: 1, lastSeenAt: 1 };
    await used.collection("nodes").insertOne({ ...row, _id: "n1", expireAt: new Date(used.clock.now() + HOUR) } as never);
    await expect(restoreBackup(used, file, checked)).rejects.toThrow("1 nodes are running on the store: stop them first");
  });

  test("[data §1] no session comes back, what it had to tell does, and what has expired is left out", async () => {
    const file = await sampleBackup(await make());
    const store = await (await make()).open("restore");
    expect(await restoreBackup(store, file, await checkBackup(file))).toMatchObject({ expired: 1 });
    expect(await store.collection("counters").find({}).toArray()).toHaveLength(1);
    const sessions = await store.collection("sessions").find({}).toArray();
    expect(sessions).toMatchObject([{ _id: "sess_untold", erased: true, deletedAt: expect.any(Number) }]);
    expect(sessions[0]).not.toHaveProperty("hash");
  });
});
