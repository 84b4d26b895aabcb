import type { StoreOperation } from "../../src/platform/storage/decorators/aroundCollection.ts";
import { aroundStore } from "../../src/platform/storage/decorators/aroundStore.ts";
import type { BulkOperation, FindOptions, Identified } from "../../src/platform/storage/port/collection.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

/** An operation that a test stands around. */
export interface Intercepted extends StoreOperation {
  /** Of a read: its filter. */
  readonly filter?: object | undefined;
  /** Of a find. */
  readonly limit?: number | undefined;
  /** Of `bulkWrite`. */
  readonly operations?: readonly BulkOperation<Identified>[] | undefined;
}

/** Runs around every operation on a collection: may do something first or afterwards, fail, or not run it at all. */
export type Intercept = <T>(operation: () => Promise<T>, what: Intercepted) => Promise<T>;

/** The same store, with a test in between. */
export const interceptStore = (store: Store, intercept: Intercept): Store => ({
  ...store,
  ...aroundStore(store, (operation, run, options, target) =>
    intercept(() => run(), {
      ...operation,
      ...(operation.kind === "read" && { filter: target }),
      ...(operation.name === "find" && { limit: (options as FindOptions<object> | undefined)?.limit }),
      ...(operation.name === "bulkWrite" && { operations: target as readonly BulkOperation<Identified>[] }),
    }),
  ),
});
