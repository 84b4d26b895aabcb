import type { Place } from "../place.ts";
import { type Served, serve } from "../targets.ts";
import type { Filled } from "./fillPlace.ts";

/** A store of some size that is measured. */
export interface Beside {
  readonly place: Place;
  readonly filled: Filled;
}

/** Runs a service on it for the time of `use`. */
export const withService = async <T>(
  { place, filled }: Beside,
  use: (served: Served) => Promise<T>,
  options: { readonly env?: Readonly<Record<string, string>>; readonly nodeFlags?: readonly string[] } = {},
): Promise<T> => {
  const { env = {}, nodeFlags = [] } = options;
  const served = await serve({ ...place.env, ...env }, { rootKey: filled.population.rootKey, nodeFlags });
  try {
    return await use(served);
  } finally {
    await served.server.stop();
  }
};
