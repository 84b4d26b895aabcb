import type { Clock } from "../../base/clock.ts";
import type { CounterServer } from "../port/counterServer.ts";
import type { Counters } from "../port/counters.ts";
import type { StoreUnavailableError } from "../port/errors.ts";
import { aroundCounters } from "./aroundCounters.ts";
import { type Circuit, type CircuitOptions, createCircuit } from "./circuit.ts";

export interface GuardCountersOptions {
  readonly clock: Clock;
  readonly onStateChange?: CircuitOptions["onStateChange"];
}

export interface GuardedCounters {
  readonly counters: Counters;
  /** The server is away from now on, until it answers a ping. */
  readonly trip: (cause: StoreUnavailableError) => void;
  readonly state: Circuit["state"];
  readonly close: () => void;
}

/** A charge is one exchange with a server that computes in memory: one that takes longer is not coming. */
const OPERATION_TIMEOUT_MS = 1_000;
const PING_TIMEOUT_MS = 500;
const PING_INTERVAL_MS = 300;

/** The counters of a server, with every operation bounded in time, and refused while the server is away (`createCircuit`). */
export const guardCounters = (
  counters: Counters,
  { ping, isCluster }: Pick<CounterServer, "ping" | "isCluster">,
  { clock, onStateChange }: GuardCountersOptions,
): GuardedCounters => {
  const { refuseWhileAway, timed, trip, state, close } = createCircuit({
    clock,
    name: "the counter server",
    ping,
    // The others of a cluster may be fine.
    isProof: !isCluster,
    operationTimeout: OPERATION_TIMEOUT_MS,
    pingTimeout: PING_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    onStateChange,
  });
  const guarded = aroundCounters(counters, async ({ kind }, run, options) => {
    options?.signal?.throwIfAborted();
    refuseWhileAway();
    return timed(kind, run);
  });
  return { counters: guarded, trip, state, close };
};
