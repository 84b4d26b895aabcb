import type { Clock } from "../../base/clock.ts";
import type { Counters } from "./counters.ts";

/** A server that keeps the counters of rate limits in place of the store, and nothing else. */
export interface CounterServer {
  readonly counters: Counters;
  /** The server's time, by which windows begin and end. Known once the server was reached. */
  readonly clock: Clock;
  /** One failure says little: the counters are on several servers. */
  readonly isCluster: boolean;
  /**
   * Connects. Rejects with `StoreUnavailableError` when the server is out of reach; it is tried again in the background then. Rejects
   * with another error when it can never be used.
   */
  prepare(signal?: AbortSignal): Promise<void>;
  /** What an operator wants to know of it, no secret; undefined before it was reached. */
  facts(): ServerFacts | undefined;
  /** Resolves when the server takes writes; rejects with `StoreUnavailableError`. */
  ping(): Promise<void>;
  /** Rejects what is in flight. */
  close(): Promise<void>;
}

export interface ServerFacts {
  /** Where it is. */
  readonly server: string;
  readonly product: string;
  readonly version: string;
  /** Why it may admit more than a limit; undefined: nothing is known against it. */
  readonly warning: string | undefined;
}
