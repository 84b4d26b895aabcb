import { join } from "node:path";
import { beforeAll } from "vitest";
import { auditEvent, resource, systemSource } from "../../src/features/audit/auditEvent.ts";
import { storeSource } from "../../src/operations/backup/storeSource.ts";
import { writeBackup } from "../../src/operations/backup/writeBackup.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { SCHEMA_VERSION } from "../../src/platform/storage/port/baseDocument.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sampleCounter, sampleKey } from "../storage/contract/samples.ts";
import { type AtEnd, freshDirectory, type MakePlace, type StorePlace } from "./storePlaces.ts";

const HOUR = 3_600_000;

/** A store of 1,200 keys, counters, a session with an untold event, and an audit log. */
const fill = async (store: Store): Promise<void> => {
  const keys = Array.from({ length: 1_200 }, () => sampleKey());
  const source = systemSource(systemClock);
  const outbox = [auditEvent(source, "key.create", "Created key", resource("key", "key_1"))];
  await store.collection("keys").insertMany([...keys.slice(1), sampleKey({ outbox, pendingMark: "m1" })]);
  const expireAt = new Date(systemClock.now() + HOUR);
  await store
    .collection("counters")
    .insertMany([sampleCounter({ expireAt }), sampleCounter({ expireAt: new Date(systemClock.now() + 1) })]);
  const session = {
    ...{ v: SCHEMA_VERSION, workspaceId: "ws_default", createdAt: 1, rootKeyId: "rk_1", opening: 0, lastUsedAt: 1, expiresAt: 2 },
  };
  const lasts = new Date(systemClock.now() + 48 * HOUR);
  await store.collection("sessions").insertMany([
    { ...session, _id: "sess_quiet", hash: "quiet", expireAt: lasts },
    { ...session, _id: "sess_untold", hash: "untold", expireAt: lasts, outbox, pendingMark: "m2" },
  ]);
};

/** A backup of a store as `fill` makes it. @param atEnd of the test, unless the backup lives longer */
export const sampleBackup = async (place: StorePlace, atEnd?: AtEnd): Promise<string> => {
  const store = await place.open("tool");
  await fill(store);
  const file = join(await freshDirectory(atEnd), "sample.backup");
  await writeBackup(await storeSource(store, "the test"), file, { product: "test", now: systemClock.now() });
  return file;
};

export interface SharedBackup {
  /** Where the store is that it was taken of. */
  readonly place: StorePlace;
  readonly file: string;
}

/** One such backup for all tests of a suite that change neither it nor its store. @returns what gives it to a test */
export const sharedBackup = (make: MakePlace): (() => SharedBackup) => {
  let shared: SharedBackup | undefined;
  beforeAll(async () => {
    const ends: (() => Promise<void>)[] = [];
    const atEnd: AtEnd = (work) => void ends.unshift(work);
    const place = await make(atEnd);
    shared = { place, file: await sampleBackup(place, atEnd) };
    return async () => {
      for (const end of ends) await end();
    };
  });
  return () => {
    if (shared === undefined) throw new Error("a shared backup is there when the tests run");
    return shared;
  };
};
