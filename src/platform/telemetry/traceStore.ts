import { aroundCounters } from "../storage/decorators/aroundCounters.ts";
import { aroundStore } from "../storage/decorators/aroundStore.ts";
import type { Counters } from "../storage/port/counters.ts";
import type { Store } from "../storage/port/store.ts";
import type { TraceOperation } from "./tracing/tracer.ts";

/** The same store, with a span for each operation that is done for a traced call. An operation's time in line counts. */
export const traceStore = <S extends Store>(store: S, trace: TraceOperation): S => {
  const system = store.engine === "mongo" ? "mongodb" : "sqlite";
  return {
    ...store,
    ...aroundStore(store, ({ collection, name }, run) => trace({ system, name, collection }, () => run())),
  };
};

/** The same for counters that a server of their own keeps. */
export const traceCounters = (counters: Counters, trace: TraceOperation): Counters =>
  aroundCounters(counters, ({ collection, name }, run) => trace({ system: "redis", name, collection }, () => run()));
