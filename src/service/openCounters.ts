import { type Clock, systemClock } from "../platform/base/clock.ts";
import type { Config } from "../platform/config/loadConfig.ts";
import { guardCounters } from "../platform/storage/decorators/guardCounters.ts";
import type { Counters } from "../platform/storage/port/counters.ts";
import { StoreUnavailableError } from "../platform/storage/port/errors.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Log } from "../platform/telemetry/log.ts";
import { meterCounters } from "../platform/telemetry/meterStore.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { traceCounters } from "../platform/telemetry/traceStore.ts";
import type { TraceOperation } from "../platform/telemetry/tracing/tracer.ts";

export interface OpenCountersOptions {
  /** Of the service. */
  readonly clock: Clock;
  /** Tests turn the clock of the service, so the server's does not count. */
  readonly isTestClock: boolean;
  readonly ratelimitStoreDown: Config["ratelimitStoreDown"];
  readonly metrics: Metrics;
  readonly events: Events;
  readonly log: Log;
  readonly trace: TraceOperation | undefined;
}

/** The counters on the server of `COUNTERS_URL`: timed, guarded, counted and traced. */
export interface OpenCounters {
  readonly counters: Counters;
  /** By which rate limits count. */
  readonly clock: Clock;
  /** Connects; a server that is out of reach is waited for in the background. Rejects with what is wrong with one that can never be used. */
  readonly start: (signal: AbortSignal) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** The client of the server is loaded only where one is configured. */
export const openCounters = async (config: NonNullable<Config["counters"]>, options: OpenCountersOptions): Promise<OpenCounters> => {
  const { clock, isTestClock, ratelimitStoreDown, metrics, events, log, trace } = options;
  const { openCounterServer } = await import("../platform/storage/valkey/openCounterServer.ts");
  const server = openCounterServer({ ...config, time: isTestClock ? "request" : "server", log });
  const guarded = guardCounters(meterCounters(server.counters, { clock, metrics }), server, {
    clock,
    onStateChange: (state, { cause }) => {
      metrics.counterServerState(state === "up");
      if (state === "up") events.counterServerBack();
      else events.counterServerAway(cause, ratelimitStoreDown);
    },
  });
  metrics.observe("counterClockOffset", () => [[[], (server.clock.now() - systemClock.now()) / 1_000]]);
  return {
    counters: trace ? traceCounters(guarded.counters, trace) : guarded.counters,
    clock: isTestClock ? clock : server.clock,
    start: async (signal) => {
      try {
        await server.prepare(signal);
        metrics.counterServerState(true);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        guarded.trip(error);
      }
      events.counterServerInUse(server.facts());
    },
    stop: () => {
      guarded.close();
      return server.close();
    },
  };
};
