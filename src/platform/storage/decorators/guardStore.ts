import type { Behalf } from "../../base/behalf.ts";
import type { Clock } from "../../base/clock.ts";
import type { Permit } from "../../fairness/sharedSemaphore.ts";
import type { OperationOptions } from "../port/collection.ts";
import type { CollectionName } from "../port/documents.ts";
import { StoreUnavailableError } from "../port/errors.ts";
import type { Store } from "../port/store.ts";
import type { AroundOperation } from "./aroundCollection.ts";
import { aroundStore } from "./aroundStore.ts";
import { createPlaces } from "./places.ts";

export type StoreState = "up" | "away";

export interface GuardOptions {
  readonly clock: Clock;
  /** The longest that one operation may take, in milliseconds; 3000 unless told. */
  readonly operationTimeout?: number;
  /** The longest that an operation waits for others to end before it is sent, in milliseconds; 2000 unless told. */
  readonly placeTimeout?: number;
  /** Pause between two questions whether a store that is away has come back, in milliseconds; 300 unless told. */
  readonly pingInterval?: number;
  /** The longest that such a question may take, in milliseconds; 1000 unless told. */
  readonly pingTimeout?: number;
  /** Called once per change, with its cause when the store went away, and how long it was (milliseconds) when it is up again. */
  readonly onStateChange?: (state: StoreState, details: { readonly cause?: StoreUnavailableError; readonly awayFor?: number }) => void;
}

export interface GuardedStore extends Store {
  readonly state: () => StoreState;
}

/** Quick, and much depends on them: what their caller, or the background, does beside does not keep them waiting. */
const withLinesOfTheirOwn: ReadonlySet<CollectionName> = new Set(["counters", "changes"]);
const lineOf = (name: CollectionName, options?: Behalf): string =>
  `${withLinesOfTheirOwn.has(name) ? name : ""}/${options?.caller?.rootKeyId ?? ""}`;

/** Rejects when `operation` has not settled after `milliseconds`, and calls `onLate` then. */
const inTime = <T>(operation: Promise<T>, milliseconds: number, outcomeUnknown: boolean, onLate?: () => void): Promise<T> =>
  new Promise((resolve, reject) => {
    const fail = () => {
      reject(new StoreUnavailableError(`the store did not answer within ${milliseconds} ms`, { outcomeUnknown, tooSlow: true }));
      onLate?.();
    };
    // An answer that arrived while this process was busy is read before `fail` runs.
    const timer = setTimeout(() => setImmediate(fail), milliseconds);
    operation.then(
      (result) => {
        clearTimeout(timer);
        resolve(result);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });

/**
 * The same store, with every operation bounded in time. After one `StoreUnavailableError` all operations fail at once
 * (nothing is sent, so the outcome is known) until the store answers a ping, which is sent in the background: a call
 * that needs several operations does not wait for each of them on a store that is away. An operation that was too slow proves
 * little, it may have had much to look through, or others in its way: it trips the store only if that does not answer a ping either.
 * Of a store in this process, whose disk may be slow, everything that is finished meanwhile is an answer, and it
 * says by itself when another process holds its file: that fails the operation alone. Nothing else trips it, neither duplicate keys, nor damage, nor an abort, nor that more is asked of the store than it takes at once (`places`), for which there are lines: who waits too long is told so, by `StoreOverloadedError`. An operation whose signal
 * is aborted before it starts does not wait any longer, and rejects with the signal's reason.
 *
 * Large `insertMany`, `bulkWrite` and `deleteMany` are under the same bound: keep them small. `prepare` and `close`
 * are not bounded.
 */
export const guardStore = (store: Store, options: GuardOptions): GuardedStore => {
  const { clock, operationTimeout = 3000, placeTimeout = 2000, pingInterval = 300, onStateChange } = options;
  // With the operation before it, within the five seconds in which a call is answered (protocol §9).
  const { pingTimeout = store.isInProcess ? 1500 : 1000 } = options;
  let awaySince: number | undefined;
  let closed = false;
  let nextPing: NodeJS.Timeout | undefined;
  let doubting: Promise<void> | undefined;

  let asked: Promise<void> | undefined;

  /** An answer that comes late counts as well where it cannot get lost: the disk of a store in this process may be slower than a ping may be. */
  const ask = (): Promise<void> => {
    asked ??= store.ping().finally(() => {
      asked = undefined;
    });
    return asked;
  };

  const probe = async (): Promise<void> => {
    try {
      await (store.isInProcess ? ask() : inTime(store.ping(), pingTimeout, false));
    } catch {
      if (!closed) nextPing = setTimeout(probe, pingInterval).unref();
      return;
    }
    if (closed) return;
    const awayFor = clock.monotonic() - (awaySince ?? 0);
    awaySince = undefined;
    onStateChange?.("up", { awayFor });
  };

  const trip = (cause: StoreUnavailableError): void => {
    if (awaySince !== undefined || closed) return;
    awaySince = clock.monotonic();
    onStateChange?.("away", { cause });
    void probe();
  };

  /** Settles when it is known whether the store is away: at once when that is known already. */
  const doubt = async (cause: StoreUnavailableError): Promise<void> => {
    if (awaySince !== undefined) return;
    // The ping stands in line behind what a slow disk is at; that this comes to an end is an answer, too.
    const answer = () => (store.isInProcess ? Promise.any([ask(), ...(store.progress ? [store.progress()] : [])]) : store.ping());
    doubting ??= inTime(answer(), pingTimeout, false)
      .catch(() => trip(cause))
      .finally(() => {
        doubting = undefined;
      });
    await doubting;
  };

  const refuseWhileAway = (): void => {
    if (awaySince !== undefined) throw new StoreUnavailableError("the store is away");
  };

  const places = store.places === undefined ? undefined : createPlaces(store.places, placeTimeout);

  /** A place is held until the operation has really ended: its connection is busy for as long, whether or not anybody still waits for it. */
  const inPlace =
    <T>(place: Permit, operation: () => Promise<T>) =>
    (): Promise<T> => {
      const running = Promise.try(operation);
      running.then(place.end, place.end);
      return running;
    };

  /** What waits for a place has not been sent; only from then on its time counts, and says something about the store. */
  const runBounded = async <T>(
    kind: "read" | "write",
    name: CollectionName,
    options: OperationOptions | undefined,
    operation: () => Promise<T>,
    onLate?: () => void,
  ): Promise<T> => {
    const signal = options?.signal;
    signal?.throwIfAborted();
    refuseWhileAway();
    if (places === undefined) return timed(kind, operation, onLate);
    const entered = places.enter(lineOf(name, options), signal);
    if (!(entered instanceof Promise)) return timed(kind, inPlace(entered, operation), onLate);
    const place = await entered;
    try {
      signal?.throwIfAborted();
      refuseWhileAway();
    } catch (error) {
      place.end();
      throw error;
    }
    return timed(kind, inPlace(place, operation), onLate);
  };

  const timed = async <T>(kind: "read" | "write", operation: () => Promise<T>, onLate?: () => void): Promise<T> => {
    let isSilent = false;
    const late = (): void => {
      isSilent = true;
      onLate?.();
    };
    try {
      return await inTime(operation(), operationTimeout, kind === "write", late);
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        const { isInProcess = false } = store;
        if (!error.tooSlow) trip(error);
        else if (isSilent || !isInProcess) await doubt(error);
      }
      throw error;
    }
  };

  /** A find goes on in turns, and so ends with its time: nobody waits for it any more. */
  const find = <T>(name: CollectionName, options: OperationOptions | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const late = new AbortController();
    const signal = options?.signal;
    const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    return runBounded(
      "read",
      name,
      options,
      () => run(either),
      () => late.abort(),
    );
  };

  const around: AroundOperation = ({ collection, name, kind }, run, options) =>
    name === "find" ? find(collection, options, run) : runBounded(kind, collection, options, run);

  return {
    ...store,
    ...aroundStore(store, around, refuseWhileAway),
    ping: async (signal) => {
      signal?.throwIfAborted();
      refuseWhileAway();
      return timed("read", () => store.ping(signal));
    },
    close: () => {
      closed = true;
      clearTimeout(nextPing);
      return store.close();
    },
    state: () => (awaySince === undefined ? "up" : "away"),
  };
};
