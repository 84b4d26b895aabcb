import { aroundStore } from "../storage/decorators/aroundStore.ts";
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
