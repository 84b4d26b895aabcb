import { randomUUID } from "node:crypto";
import type { Db } from "mongodb";
import type { Clock } from "../../../domain/clock.ts";
import { durationOfKey } from "../../../domain/counterKey.ts";
import { chunks } from "../../../util/chunks.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../port/baseDocument.ts";
import type { CounterDocument } from "../../port/documents.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../../port/errors.ts";
import type { LeaseDocument } from "../../port/internalDocuments.ts";
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

/** `holder` is where the nodes count. */
const KEPT = "counters kept";
/** `holder` is the node that takes along what was counted. */
const MOVING = "counters moving";
/** And of these, one of each node that has begun to start, where that one counts: until its row among the nodes tells of it. */
const STARTS = { $gte: "counters start ", $lt: "counters start!" };
const START_LASTS_MS = 120_000;
/** Counters that are moved at once, and how long all of them may take, in milliseconds. */
const AT_ONCE = 1_000;
const MOVE_TIME = 600_000;

const leasesOf = ({ database }: AgreeOnCountersOptions) => database.collection<Lease>("leases");
const lease = (_id: string, holder: string, expires: number): Lease => ({
  _id,
  holder,
  expires,
  v: SCHEMA_VERSION,
  workspaceId: WORKSPACE_ID,
});

const keptIn = async (options: AgreeOnCountersOptions): Promise<CountersKept> => {
  const found = await options.run(() => leasesOf(options).findOne({ _id: KEPT }));
  return found?.holder === "logs" ? "logs" : "documents";
};

const notAgreed = (theirs: CountersKept): StoreUnavailableError =>
  new StoreUnavailableError(
    `other nodes on this store count rate limits in ${theirs}: this one starts when all of them have been gone for up to two minutes, or with RATELIMIT_COUNTERS=${theirs}`,
  );

/** All that counts now, from documents into the logs. */
const moveIntoLogs = async ({ database, clock }: AgreeOnCountersOptions, counterLog: CounterLog): Promise<void> => {
  // Nobody has counted there since the documents count, but a move that did not end.
  await database
    .collection<{ _id: string }>("counterLog")
    .deleteMany({ $or: ["e", "m"].map((kind) => ({ _id: { $gte: `${kind}/`, $lt: `${kind}0` } })) });
  const documents = database.collection<CounterDocument & { _id: string }>("counters");
  for (let after = ""; ; ) {
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
const moveIntoDocuments = async ({ database, clock }: AgreeOnCountersOptions, counterLog: CounterLog): Promise<void> => {
  await counterLog.open();
  const documents = database.collection<CounterDocument & { _id: string }>("counters");
  for (const part of counterLog.parts()) {
    for (const some of chunks([...part], AT_ONCE)) {
      const writes = some.flatMap(([key, { seq, current, previous }]) => {
        const expireAt = new Date((seq + 3) * (durationOfKey(key) ?? 0));
        const $set = { seq, current, previous, expireAt, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID };
        return expireAt.getTime() > clock.now() ? [{ updateOne: { filter: { _id: key }, update: { $set }, upsert: true } }] : [];
      });
      if (writes.length > 0) await documents.bulkWrite(writes, { ordered: false });
    }
  }
};

/** Has one node alone move what is counted, and that one once. False: another one is at it. */
const moveAlone = async (options: AgreeOnCountersOptions): Promise<boolean> => {
  const { kept, clock, openLog, run } = options;
  const leases = leasesOf(options);
  const now = clock.now();
  // One that has died at it.
  await run(() => leases.deleteOne({ _id: MOVING, expires: { $lt: now } }));
  const own = lease(MOVING, randomUUID(), now + 2 * MOVE_TIME);
  const isTaken = await run(() => leases.insertOne(own)).then(
    () => false,
    (error: unknown) => {
      if (toStoreError(error, "write") instanceof DuplicateKeyError) return true;
      throw error;
    },
  );
  if (isTaken) return false;
  const counterLog = openLog();
  try {
    if ((await keptIn(options)) === kept) return true;
    await run(() => (kept === "logs" ? moveIntoLogs(options, counterLog) : moveIntoDocuments(options, counterLog)), MOVE_TIME);
    await run(() => leases.replaceOne({ _id: KEPT }, lease(KEPT, kept, 0), { upsert: true }));
    return true;
  } finally {
    await counterLog.close();
    await run(() => leases.deleteOne({ _id: MOVING, holder: own.holder })).catch(() => undefined);
  }
};

/**
 * Makes sure that all nodes on the store count in the same place, before this one counts anything: two that do not would each
 * admit a limit of their own. Where nobody else is there, and this node is to count elsewhere than those before, it takes along
 * what they had counted. Rejects with `StoreUnavailableError` where others are there, who count elsewhere.
 */
export const agreeOnCounters = async (options: AgreeOnCountersOptions): Promise<void> => {
  const { database, kept, clock, run } = options;
  const leases = leasesOf(options);
  const now = clock.now();
  const own = lease(`${STARTS.$gte}${randomUUID()}`, kept, now + START_LASTS_MS);
  await run(() => leases.deleteMany({ _id: STARTS, expires: { $lt: now } }));
  // Of two that start at once at least one finds the other here.
  await run(() => leases.insertOne(own));
  const starts = await run(() => leases.find({ _id: STARTS }).toArray());
  const refuse = async (theirs: CountersKept): Promise<never> => {
    await run(() => leases.deleteOne({ _id: own._id }));
    throw notAgreed(theirs);
  };
  const isElsewhere = starts.some(({ holder, expires }) => holder !== kept && expires >= now);
  if (isElsewhere) await refuse(kept === "logs" ? "documents" : "logs");
  const before = await keptIn(options);
  if (before === kept) return;
  const others = await run(() => database.collection("nodes").countDocuments({ expireAt: { $gt: new Date(now) } }));
  if (others > 0) await refuse(before);
  if (!(await moveAlone(options))) throw new StoreUnavailableError("another node takes along what was counted: this one waits for it");
};
