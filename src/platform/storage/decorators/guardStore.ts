import type { Behalf } from "../../base/behalf.ts";
import type { Clock } from "../../base/clock.ts";
import type { Permit } from "../../fairness/sharedSemaphore.ts";
import type { OperationOptions } from "../port/collection.ts";
import type { CollectionName } from "../port/documents.ts";
import type { Store } from "../port/store.ts";
import type { AroundOperation } from "./aroundCollection.ts";
import { aroundStore } from "./aroundStore.ts";
import { type CircuitOptions, type CircuitState, createCircuit } from "./circuit.ts";
import { createPlaces } from "./places.ts";

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
  readonly onStateChange?: CircuitOptions["onStateChange"];
}

export interface GuardedStore extends Store {
  readonly state: () => CircuitState;
}

/** Quick, and much depends on them: what their caller, or the background, does beside does not keep them waiting. */
const withLinesOfTheirOwn: ReadonlySet<CollectionName> = new Set(["counters", "changes"]);
const lineOf = (name: CollectionName, options?: Behalf): string =>
  `${withLinesOfTheirOwn.has(name) ? name : ""}/${options?.caller?.rootKeyId ?? ""}`;

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
  const circuit = createCircuit({
    clock,
    name: "the store",
    ping: () => store.ping(),
    isInProcess: store.isInProcess,
    progress: store.progress,
    operationTimeout,
    pingInterval,
    pingTimeout,
    onStateChange,
  });
  const { refuseWhileAway, timed } = circuit;

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
      circuit.close();
      return store.close();
    },
    state: circuit.state,
  };
};
