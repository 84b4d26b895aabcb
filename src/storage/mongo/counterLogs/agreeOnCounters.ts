import { randomUUID } from "node:crypto";
import type { Db } from "mongodb";
import type { Clock } from "../../../domain/clock.ts";
import { durationOfKey } from "../../../domain/counterKey.ts";
import { countsUntil } from "../../../domain/slidingWindow.ts";
import { chunks } from "../../../util/chunks.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../port/baseDocument.ts";
import type { CounterDocument } from "../../port/documents.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../../port/errors.ts";
import type { LeaseDocument } from "../../port/internalDocuments.ts";
import { beginningWith } from "../../port/textRange.ts";
import { toStoreError } from "../mongoErrors.ts";
import type { CounterLog } from "./counterLog.ts";
import { isLogged } from "./shortWindowsInLog.ts";

/** Where nodes on MongoDB keep the counters of rate limits: one document for each, or for short windows one log of each node. */
export type CountersKept = "documents" | "logs";

/** Kept among the leases. */
type Lease = LeaseDocument & { readonly _id: string };

export interface AgreeOnCountersOptions {
  readonly database: Db;
  readonly kept: CountersKept;
  readonly clock: Clock;
  /** Opens the logs for the time of a move. */
  readonly openLog: () => CounterLog;
  /** Surrounds every command. */
  readonly run: <T>(operation: () => Promise<T>, patience?: number) => Promise<T>;
}

/** What the ids of all of them begin with. */
const ALL = "counters ";
/** `holder` is where the nodes count. */
const KEPT = `${ALL}kept`;
/** `holder` is the node that takes along what was counted. */
const MOVING = `${ALL}moving`;
/** And of these, one of each node that has begun to start, where that one counts: until its row among the nodes tells of it. */
const START = `${ALL}start `;
const START_LASTS_MS = 120_000;
/** Counters that are moved at once, and how long all of them may take, in milliseconds. */
const AT_ONCE = 1_000;
const MOVE_TIME = 120_000;

/** Where all of it is read, and written: a secondary may not have yet what was acknowledged. */
const PRIMARY = { readPreference: "primary" } as const;

const leasesOf = ({ database }: AgreeOnCountersOptions) => database.collection<Lease>("leases", PRIMARY);
const lease = (_id: string, holder: string, expires: number): Lease => ({
  _id,
  holder,
  expires,
  v: SCHEMA_VERSION,
  workspaceId: WORKSPACE_ID,
});

/** All of them, as of one moment. */
const readLeases = (options: AgreeOnCountersOptions): Promise<readonly Lease[]> =>
  options.run(() =>
    leasesOf(options)
      .find({ _id: beginningWith(ALL) })
      .toArray(),
  );

const keptIn = (leases: readonly Lease[]): CountersKept =>
  leases.find(({ _id }) => _id === KEPT)?.holder === "logs" ? "logs" : "documents";

const notAgreed = (theirs: CountersKept): StoreUnavailableError =>
  new StoreUnavailableError(
    `other nodes on this store count rate limits in ${theirs}: this one starts when all of them have been gone for up to two minutes, or with RATELIMIT_COUNTERS=${theirs}`,
  );

/** A move, as long as it may take; `goOn` rejects behind that. */
interface Move {
  readonly counterLog: CounterLog;
  readonly goOn: () => void;
}

/** All that counts now, from documents into the logs. */
const moveIntoLogs = async ({ database, clock }: AgreeOnCountersOptions, { counterLog, goOn }: Move): Promise<void> => {
  // Nobody has counted there since the documents count, but a move that did not end.
  await database.collection("counterLog").deleteMany({});
  const documents = database.collection<CounterDocument & { _id: string }>("counters", PRIMARY);
  for (let after = ""; ; ) {
    goOn();
    const page = await documents.find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit: AT_ONCE, batchSize: AT_ONCE + 1 }).toArray();
    const live = page.filter(({ _id, expireAt }) => isLogged(_id) && expireAt.getTime() > clock.now());
    await Promise.all(
      live.flatMap(({ _id: key, seq, current, previous }) => [
        counterLog.change({ key, seq: seq - 1, amount: previous }),
        counterLog.change({ key, seq, amount: current }),
      ]),
    );
    const last = page.at(-1);
    if (last === undefined) return;
    after = last._id;
  }
};

/** And back. */
const moveIntoDocuments = async ({ database, clock }: AgreeOnCountersOptions, { counterLog, goOn }: Move): Promise<void> => {
  await counterLog.open();
  const documents = database.collection<CounterDocument & { _id: string }>("counters");
  for (const part of counterLog.parts()) {
    for (const some of chunks([...part], AT_ONCE)) {
      goOn();
      const writes = some.flatMap(([key, { seq, current, previous }]) => {
        const expireAt = countsUntil(seq, durationOfKey(key) ?? 0);
        const $set = { seq, current, previous, expireAt, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID };
        return expireAt.getTime() > clock.now() ? [{ updateOne: { filter: { _id: key }, update: { $set }, upsert: true } }] : [];
      });
      if (writes.length > 0) await documents.bulkWrite(writes, { ordered: false });
    }
  }
};

const isAtIt = (): StoreUnavailableError => new StoreUnavailableError("another node takes along what was counted: this one waits for it");

/** Nobody who counts elsewhere may have started meanwhile, and nobody else may have taken the move over. */
const finish = async (options: AgreeOnCountersOptions, own: Lease): Promise<void> => {
  const { kept, clock, run } = options;
  const leases = leasesOf(options);
  refuseOthers(options, await readLeases(options));
  const renewed = await run(() => leases.updateOne({ _id: MOVING, holder: own.holder }, { $set: { expires: clock.now() + MOVE_TIME } }));
  if (renewed.matchedCount === 0) throw isAtIt();
  await run(() => leases.replaceOne({ _id: KEPT }, lease(KEPT, kept, 0), { upsert: true }));
};

/** Has one node alone move what is counted, and that one once. */
const moveAlone = async (options: AgreeOnCountersOptions): Promise<void> => {
  const { kept, clock, openLog, run } = options;
  const leases = leasesOf(options);
  const now = clock.now();
  const own = lease(MOVING, randomUUID(), now + 2 * MOVE_TIME);
  await run(() => leases.deleteOne({ _id: MOVING, expires: { $lt: now } }));
  await run(() => leases.insertOne(own)).catch((error: unknown) => {
    throw toStoreError(error, "write") instanceof DuplicateKeyError ? isAtIt() : error;
  });
  const counterLog = openLog();
  const until = clock.monotonic() + MOVE_TIME;
  const goOn = (): void => {
    if (clock.monotonic() > until) throw new StoreUnavailableError("to take along what was counted took too long", { tooSlow: true });
  };
  try {
    if (keptIn(await readLeases(options)) === kept) return;
    const move = kept === "logs" ? moveIntoLogs : moveIntoDocuments;
    await run(() => move(options, { counterLog, goOn }), MOVE_TIME);
    await finish(options, own);
  } finally {
    await counterLog.close();
    // Also where the store is about to be closed.
    await leases.deleteOne({ _id: MOVING, holder: own.holder }).catch(() => undefined);
  }
};

/** Throws where a node that counts elsewhere has begun to start. */
const refuseOthers = ({ kept, clock }: AgreeOnCountersOptions, leases: readonly Lease[]): void => {
  const now = clock.now();
  const isElsewhere = leases.some(({ _id, holder, expires }) => _id.startsWith(START) && holder !== kept && expires >= now);
  if (isElsewhere) throw notAgreed(kept === "logs" ? "documents" : "logs");
};

const agree = async (options: AgreeOnCountersOptions, own: Lease): Promise<void> => {
  const { database, kept, clock, run } = options;
  const leases = leasesOf(options);
  const renew = (milliseconds: number): Promise<unknown> =>
    run(() => leases.updateOne({ _id: own._id }, { $set: { expires: clock.now() + milliseconds } }));
  const found = await readLeases(options);
  const now = clock.now();
  const old = found.filter(({ _id, expires }) => _id.startsWith(START) && expires < now).map(({ _id }) => _id);
  if (old.length > 0) await run(() => leases.deleteMany({ _id: { $in: old } }));
  refuseOthers(options, found);
  if (found.some(({ _id, expires }) => _id === MOVING && expires >= now)) throw isAtIt();
  const before = keptIn(found);
  if (before === kept) return;
  const rows = database.collection("nodes", PRIMARY);
  const others = await run(() => rows.countDocuments({ expireAt: { $gt: new Date(clock.now()) } }));
  if (others > 0) throw notAgreed(before);
  await renew(2 * MOVE_TIME);
  await moveAlone(options);
  await renew(START_LASTS_MS);
};

/**
 * Makes sure that all nodes on the store count in the same place, before this one counts anything: two that do not would each
 * admit a limit of their own. Where nobody else is there, and this node is to count elsewhere than those before, it takes along
 * what they had counted. Rejects with `StoreUnavailableError` where others are there, who count elsewhere.
 */
export const agreeOnCounters = async (options: AgreeOnCountersOptions): Promise<void> => {
  const { kept, clock, run } = options;
  const leases = leasesOf(options);
  const own = lease(`${START}${randomUUID()}`, kept, clock.now() + START_LASTS_MS);
  // Of two that start at once at least one finds the other's.
  await run(() => leases.insertOne(own));
  try {
    await agree(options, own);
  } catch (error) {
    await leases.deleteOne({ _id: own._id }).catch(() => undefined);
    throw error;
  }
};
