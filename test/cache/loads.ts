import type { Clock } from "../../src/platform/base/clock.ts";
import type { LoadResult } from "../../src/platform/cache/cacheEntry.ts";

/** A load of a cache that ends when the test says so. */
export type Load = PromiseWithResolvers<LoadResult<string>>;

/** Begins a load, which joins those that are running. */
export const begin = (loads: Load[]): Promise<LoadResult<string>> => {
  const load: Load = Promise.withResolvers();
  loads.push(load);
  return load.promise;
};

/** The result of a load that starts now: a value that depends on `object`. */
export const loadedAt = (clock: Clock, value: string, rest: Partial<LoadResult<string>> = {}): LoadResult<string> => ({
  value,
  dependsOn: ["object"],
  sentAt: clock.monotonic(),
  ...rest,
});
