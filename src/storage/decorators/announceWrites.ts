import type { Clock } from "../../domain/clock.ts";
import type { Collection, Filter, OperationOptions } from "../port/collection.ts";
import type { CollectionName, Documents } from "../port/documents.ts";
import { DuplicateKeyError, StoreOverloadedError, StoreUnavailableError } from "../port/errors.ts";
import type { Store } from "../port/store.ts";
import { isRemembered, type Voids, voidsOfBulk, voidsOfWrite } from "./voids.ts";

/**
 * How long after its announcement a change may be written. Those who hear of it remember nothing of it for longer than
 * this and the longest that a read is shared, so that what they remember then has seen the write.
 */
const WRITTEN_WITHIN_MS = 2_000;
/** For half of that an announcement serves further writes of the same: a change that is decided again is not announced again. */
const SERVES_FOR_MS = 1_000;

/** Tells nodes what they must not remember any more. */
export interface Announcer {
  /** The other nodes hear within a second of when it resolves, whatever becomes of this node, which forgets nothing by it. */
  readonly announce: (ids: readonly string[]) => Promise<void>;
  /** Void on this node when it returns, and only here. */
  readonly forget: (ids: readonly string[]) => void;
  /** What may change at any time from now on: void here, not remembered for a while, and announced until the store took it. */
  readonly doubt: (ids: readonly string[]) => void;
}

const notAnnounced = (error: unknown, outcomeUnknown: boolean): unknown =>
  error instanceof StoreUnavailableError
    ? new StoreUnavailableError("the change could not be announced to other nodes", { cause: error, outcomeUnknown })
    : error;

/** An operation that was not sent: what is remembered of it is as true as before, and may be all there is while the store is away. */
const wroteNothing = (error: unknown, signal: AbortSignal | undefined): boolean =>
  (error instanceof StoreUnavailableError && !error.outcomeUnknown) ||
  error instanceof StoreOverloadedError ||
  // Only a write that has not begun ends so.
  (signal?.aborted === true && error === signal.reason);

/**
 * The same store, where no write is acknowledged that a node could miss (DESIGN §9): what it voids is announced, durably,
 * before it is written, so that it is heard of even if this process ends in the same instant. A write that voids nothing
 * (`voids.ts`) is passed on as it is.
 */
export const announceWrites = (store: Store, { announce, forget, doubt }: Announcer, clock: Pick<Clock, "monotonic">): Store => {
  /** When the latest announcement of an id began, those that began first in front. */
  const latest = new Map<string, number>();

  const announceOnce = async (ids: readonly string[]): Promise<number> => {
    const now = clock.monotonic();
    for (const [id, at] of latest) {
      if (now - at < SERVES_FOR_MS) break;
      latest.delete(id);
    }
    const known = ids.map((id) => latest.get(id) ?? Number.NEGATIVE_INFINITY);
    if (known.every((at) => now - at < SERVES_FOR_MS)) return Math.min(...known);
    await announce(ids);
    for (const id of ids) {
      latest.delete(id);
      latest.set(id, now);
    }
    return now;
  };

  const announced = async <T>({ everywhere, here }: Voids, write: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    let began: number;
    try {
      began = await announceOnce(everywhere);
    } catch (error) {
      // Nothing was written.
      throw notAnnounced(error, false);
    }
    const all = [...everywhere, ...here];
    let result: T;
    try {
      result = await write();
    } catch (error) {
      const isLate = clock.monotonic() - began > WRITTEN_WITHIN_MS;
      // Of several, those before the one that was refused are written.
      if (error instanceof DuplicateKeyError && !isLate) forget(all);
      else if (!wroteNothing(error, signal)) doubt(all);
      throw error;
    }
    forget(all);
    if (clock.monotonic() - began <= WRITTEN_WITHIN_MS) return result;
    try {
      await announce(everywhere);
    } catch (error) {
      doubt(all);
      throw notAnnounced(error, true);
    }
    return result;
  };

  const run = <T>(voids: Voids, write: () => Promise<T>, options?: OperationOptions): Promise<T> => {
    const { everywhere, here } = voids;
    if (everywhere.length > 0) return announced(voids, write, options?.signal);
    return here.length === 0 ? write() : write().finally(() => forget(here));
  };

  const around = <N extends CollectionName>(name: N, inner: Collection<Documents[N]>): Collection<Documents[N]> => ({
    findOne: (filter, options) => inner.findOne(filter, options),
    find: (filter, options) => inner.find(filter, options),
    findFields: (fields, filter, options) => inner.findFields(fields, filter, options),
    insertOne: (document, options) => run(voidsOfWrite(name, { insert: [document] }), () => inner.insertOne(document, options), options),
    insertMany: (documents, options) => run(voidsOfWrite(name, { insert: documents }), () => inner.insertMany(documents, options), options),
    updateOne: (filter, update, options) =>
      run(voidsOfWrite(name, { filter, update }), () => inner.updateOne(filter, update, options), options),
    findOneAndUpdate: (filter, update, options) =>
      run(voidsOfWrite(name, { filter, update }), () => inner.findOneAndUpdate(filter, update, options), options),
    deleteOne: (filter, options) => run(voidsOfWrite(name, { filter }), () => inner.deleteOne(filter, options), options),
    deleteMany: (filter, options) => run(voidsOfWrite(name, { filter }), () => inner.deleteMany(filter, options), options),
    vouch: (document) => run(voidsOfWrite(name, { filter: document as Filter<Documents[N]> }), () => Promise.resolve()),
    bulkWrite: (operations, options) => run(voidsOfBulk(name, operations), () => inner.bulkWrite(operations, options), options),
  });

  return {
    ...store,
    collection: (name) => (isRemembered(name) ? around(name, store.collection(name)) : store.collection(name)),
  };
};
