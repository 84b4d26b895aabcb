import type { Clock } from "../../domain/clock.ts";
import type { Fields } from "../applyUpdate.ts";
import type { Sort } from "./filterToSql.ts";

interface ReadOptions {
  readonly sort?: Sort | undefined;
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Runs one query to its end; the texts of one column. `skip` leaves out the first so many and needs a limit. */
export type Read = (column: "doc" | "id", filter: Fields, options: ReadOptions & { readonly skip?: number }) => readonly string[];

/** Rows of one slice. */
const ROWS = { first: 500, least: 50, most: 8_000 } as const;
/** What a slice should take at most, in milliseconds: so long nothing else happens on this thread. */
const SLICE_MS = 5;

/** Has to look at every row from a place on: a text is searched anywhere in a field, in the order of the ids. */
const isSearch = (filter: Fields, sort: Sort = {}): boolean =>
  Object.keys(sort).join() === "_id" &&
  sort._id === 1 &&
  (filter._id === undefined || typeof filter._id === "object") &&
  Object.values(filter).some((condition) => typeof condition === "object" && condition !== null && "$regex" in condition);

/**
 * Finds documents; a search slice by slice, with everybody else's turn between two of them. A search is no snapshot
 * then: what comes and goes meanwhile may be in it or not, what is there throughout is in it once.
 */
export const createSlicedFind = (clock: Clock, read: Read): ((filter: Fields, options: ReadOptions) => Promise<readonly string[]>) => {
  const search = async (filter: Fields, { sort, limit, signal }: ReadOptions): Promise<readonly string[]> => {
    const found: string[] = [];
    let place = (filter._id ?? {}) as Fields;
    let rows: number = ROWS.first;
    for (;;) {
      const startedAt = clock.monotonic();
      const [last] = read("id", { _id: place }, { sort, limit: 1, skip: rows - 1, signal });
      const slice = last === undefined ? place : { ...place, $lte: last };
      const wanted = limit ? limit - found.length : undefined;
      found.push(...read("doc", { ...filter, _id: slice }, { sort, limit: wanted, signal }));
      if (last === undefined || found.length === limit) return found;
      const { $gte: _from, ...bounds } = place;
      place = { ...bounds, $gt: last };
      const took = clock.monotonic() - startedAt;
      if (took > SLICE_MS) rows = Math.max(ROWS.least, Math.floor(rows / 2));
      else if (took < SLICE_MS / 3) rows = Math.min(ROWS.most, rows * 2);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  };
  return async (filter, options) => (isSearch(filter, options.sort) ? search(filter, options) : read("doc", filter, options));
};
