import { aroundStore } from "../../src/platform/storage/decorators/aroundStore.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

export interface FaultyStore extends Store {
  /** `fails`: operations reject as unavailable, `hangs`: they do not answer before the store is well again. */
  behave(mode: "well" | "fails" | "hangs", which?: "all" | "reads"): void;
  /** How many operations and pings have reached the store so far. */
  readonly calls: () => number;
}

/** A store that a test can make unavailable: a decorator of a real one. */
export const faultyStore = (store: Store): FaultyStore => {
  let mode: "well" | "fails" | "hangs" = "well";
  let readsOnly = false;
  let calls = 0;
  let well = Promise.withResolvers<void>();

  const disturbed = async <T>(operation: () => Promise<T>, isRead = false): Promise<T> => {
    calls++;
    if (readsOnly && !isRead) return operation();
    if (mode === "fails") throw new StoreUnavailableError("the store was told to fail", { outcomeUnknown: true });
    if (mode === "hangs") await well.promise;
    return operation();
  };

  return {
    ...store,
    ...aroundStore(
      store,
      ({ kind }, run) => disturbed(run, kind === "read"),
      () => {
        calls++;
        if (mode === "fails") throw new StoreUnavailableError("the store was told to fail", { outcomeUnknown: true });
      },
    ),
    ...(store.progress && { progress: () => disturbed(async () => store.progress?.()) }),
    ping: (signal) => disturbed(() => store.ping(signal)),
    behave: (next, which = "all") => {
      mode = next;
      readsOnly = which === "reads";
      if (next === "hangs") return;
      well.resolve();
      well = Promise.withResolvers();
    },
    calls: () => calls,
  };
};
