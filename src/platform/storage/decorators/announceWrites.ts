import type { Clock } from "../../base/clock.ts";
import type { Collection, Filter, OperationOptions } from "../port/collection.ts";
import type { CollectionName, Documents } from "../port/documents.ts";
import { DuplicateKeyError, StoreOverloadedError, StoreUnavailableError } from "../port/errors.ts";
import type { Store } from "../port/store.ts";
import { type AroundOperation, aroundCollection } from "./aroundCollection.ts";
import { madeOnce } from "./aroundStore.ts";
import { isRemembered, type Voids, voidsOfOperation, voidsOfWrite } from "./voids.ts";

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

  const around: AroundOperation = (operation, write, options, target, update) =>
    operation.kind === "read" ? write() : run(voidsOfOperation(operation, target, update), write, options);

  const announcing = <N extends CollectionName>(name: N): Collection<Documents[N]> => ({
    ...aroundCollection(name, store.collection(name), around),
    vouch: (document) => run(voidsOfWrite(name, { filter: document as Filter<Documents[N]> }), () => Promise.resolve()),
  });

  return {
    ...store,
    collection: madeOnce((name) => (isRemembered(name) ? announcing(name) : store.collection(name))),
  };
};
