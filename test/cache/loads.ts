import type { Loaded } from "../../src/cache/entry.ts";
import type { Clock } from "../../src/domain/clock.ts";

/** A load of a cache that ends when the test says so. */
export type Load = PromiseWithResolvers<Loaded<string>>;

/** Begins a load, which joins those that are running. */
export const begin = (loads: Load[]): Promise<Loaded<string>> => {
  const load: Load = Promise.withResolvers();
  loads.push(load);
  return load.promise;
};

/** What a load finds that began now: a value that depends on `object`. */
export const loadedAt = (clock: Clock, value: string, rest: Partial<Loaded<string>> = {}): Loaded<string> => ({
  value,
  dependsOn: ["object"],
  sentAt: clock.monotonic(),
  ...rest,
});
