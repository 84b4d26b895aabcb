import type { Fields } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import { indexes } from "../../port/indexes.ts";
import type { Sort } from "./filterToSql.ts";
import type { ReadTurns, Spend } from "./readTurns.ts";
import type { Row, Selection } from "./selection.ts";

export interface ReadOptions {
  readonly sort?: Sort | undefined;
  readonly limit?: number | undefined;
  /** Leaves out the first so many; needs a limit. */
  readonly skip?: number | undefined;
}

/** Runs one query; ends it when `take`, which gets each row, says that it has enough. */
export type Read = (sql: string, filter: Fields, options: ReadOptions, take: (row: Row) => "on" | "enough") => void;

type Find = <R>(
  selection: Selection<R>,
  filter: Fields,
  options: Omit<ReadOptions, "skip"> & { readonly signal?: AbortSignal | undefined },
) => Promise<R[]>;

/** A slice looks at so many rows at most, and ends with the row that makes its texts as long: a quarter of what one turn has for all reads. */
export const SLICE: { readonly rows: number; readonly bytes: number } = { rows: 250, bytes: 256 * 1024 };

const isOperators = (condition: unknown): condition is Fields =>
  typeof condition === "object" && condition !== null && !Array.isArray(condition) && !(condition instanceof Date);

const isListed = (condition: unknown): boolean => isOperators(condition) && Array.isArray(condition.$in);

/** All documents that the filter finds have a value there, and no two the same. */
const isUnique = (collection: CollectionName, field: string, filter: Fields): boolean =>
  field === "_id" ||
  indexes.some((index) => {
    const fields: readonly string[] = index.fields;
    const isFixed = (other: string) => filter[other] !== undefined && !isOperators(filter[other]);
    if (index.collection !== collection || !index.unique || (index.onlyWith !== undefined && !isListed(filter[field]))) return false;
    return fields.includes(field) && fields.every((each) => each === field || isFixed(each));
  });

/**
 * The order in which a query can be gone on with after any of its documents, by the value of one unique field: the order that
 * was asked for, or where none was, one that its index has anyway. Undefined: it is read at once, and its limit is the bound.
 */
const resumableOrder = (collection: CollectionName, filter: Fields, { sort, limit }: ReadOptions): Sort | undefined => {
  const [field, ...others] = Object.keys(sort ?? {});
  if (field !== undefined) {
    const resumable =
      others.length === 0 && isUnique(collection, field, filter) && (filter[field] === undefined || isOperators(filter[field]));
    return resumable ? sort : undefined;
  }
  const listed = Object.keys(filter).find((name) => isListed(filter[name]) && isUnique(collection, name, filter));
  if (listed !== undefined) return { [listed]: 1 };
  return limit || (filter._id !== undefined && !isOperators(filter._id)) ? undefined : { _id: 1 };
};

/** Values that are looked up one by one, whether or not there is a document. */
const listedIn = (filter: Fields): number => {
  let values = 0;
  for (const condition of Object.values(filter)) if (isListed(condition)) values += (condition as { $in: unknown[] }).$in.length;
  return values;
};

/** A text is searched anywhere in a field: no index finds it, every row has to be looked at. */
const isSearched = (condition: unknown): boolean => isOperators(condition) && "$regex" in condition;

/**
 * Finds documents slice by slice, with everybody else's turn between two of them as soon as this turn has no more room. What is
 * found in several turns is no snapshot: what comes and goes meanwhile may be in it or not, what is there throughout is in
 * it once.
 */
export const createSlicedFind = (collection: CollectionName, turns: ReadTurns, read: Read): Find => {
  /** The id of the last of the rows that a search may look at in one slice; undefined when there are fewer. */
  const endOfSlice = (filter: Fields, sort: Sort): string | undefined => {
    const walked = Object.fromEntries(Object.entries(filter).filter(([, condition]) => !isSearched(condition)));
    let end: string | undefined;
    read("id", walked, { sort, limit: 1, skip: SLICE.rows - 1 }, ({ id }) => {
      end = id as string;
      return "enough";
    });
    return end;
  };

  const readAtOnce = <R>(selection: Selection<R>, filter: Fields, options: ReadOptions, spend: Spend): R[] => {
    const items: R[] = [];
    let bytes = 0;
    read(selection.sql, filter, options, (row) => {
      bytes += selection.bytes(row);
      items.push(selection.decode(row));
      return "on";
    });
    spend(items.length + listedIn(filter) + 1, bytes);
    return items;
  };

  /** `last`: where to go on behind; undefined when that was all there is. */
  const readSlice = <R>(
    selection: Selection<R>,
    filter: Fields,
    sort: Sort,
    limit: number,
    spend: Spend,
  ): { items: R[]; last: unknown } => {
    const items: R[] = [];
    let bytes = 0;
    let last: unknown;
    const [field = "_id"] = Object.keys(sort);
    read(`${selection.sql}, ${field === "_id" ? "id" : `"${field}"`} AS place`, filter, { sort, limit }, (row) => {
      bytes += selection.bytes(row);
      items.push(selection.decode(row));
      last = row.place;
      return bytes < SLICE.bytes ? "on" : "enough";
    });
    spend(items.length + listedIn(filter) + 1, bytes);
    return { items, last: items.length < limit && bytes < SLICE.bytes ? undefined : last };
  };

  return async (selection, filter, { sort: wanted, limit, signal }) => {
    const sort = resumableOrder(collection, filter, { sort: wanted, limit });
    if (sort === undefined) {
      return turns.run("slice", (spend) => {
        signal?.throwIfAborted();
        return readAtOnce(selection, filter, { sort: wanted, limit }, spend);
      });
    }
    const [field = "_id"] = Object.keys(sort);
    const [behind, from, upTo] = sort[field] === 1 ? (["$gt", "$gte", "$lte"] as const) : (["$lt", "$lte", "$gte"] as const);
    const isSearch = field === "_id" && Object.values(filter).some(isSearched);
    const found: ReturnType<typeof selection.decode>[] = [];
    let place = (filter[field] ?? {}) as Fields;
    for (;;) {
      const { items, last } = await turns.run("slice", (spend) => {
        signal?.throwIfAborted();
        const rest = { ...filter, [field]: place };
        const end = isSearch ? endOfSlice(rest, sort) : undefined;
        const slice = end === undefined ? rest : { ...rest, [field]: { ...place, [upTo]: end } };
        if (isSearch) spend(SLICE.rows, 0);
        const most = limit ? Math.min(limit - found.length, SLICE.rows) : SLICE.rows;
        const read = readSlice(selection, slice, sort, most, spend);
        return { items: read.items, last: read.last ?? end };
      });
      found.push(...items);
      if (last === undefined || found.length === limit) return found;
      const { [from]: _from, ...bounds } = place;
      place = { ...bounds, [behind]: last };
    }
  };
};
