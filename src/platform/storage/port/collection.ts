import type { Behalf } from "../../base/behalf.ts";

/**
 * The storage port: the part of MongoDB's collection interface that Latchkey uses, written so that the driver's
 * own `Collection` satisfies it. Field names are always top-level, so an engine never has to walk a path.
 */

/** A value that filters can compare. Dates appear only in the field that an index declares as its expiry. */
type Comparable = string | number | boolean | Date;

/** Every document has a text id. */
export interface Identified {
  readonly _id: string;
}

interface Operators<T> {
  readonly $in?: readonly T[];
  readonly $gt?: T;
  readonly $gte?: T;
  readonly $lt?: T;
  readonly $lte?: T;
  /** Presence of the field; a field is never stored as null. */
  readonly $exists?: boolean;
  /** Only what `containsText` returns: an escaped literal, matched anywhere in the field. */
  readonly $regex?: string;
}

type Condition<T> = NonNullable<T> extends Comparable ? NonNullable<T> | Operators<NonNullable<T>> : Pick<Operators<never>, "$exists">;

/** All conditions must hold. `$or` needs at least one member. */
export type Filter<D> = { readonly [K in keyof D]?: Condition<D[K]> } & { readonly $or?: readonly Filter<D>[] };

type FieldsOf<D, T> = { [K in keyof D as NonNullable<D[K]> extends T ? K : never]?: NonNullable<D[K]> };
type ItemOf<L> = NonNullable<L> extends readonly (infer I)[] ? I : never;
type ListFields<D> = { [K in keyof D as NonNullable<D[K]> extends readonly unknown[] ? K : never]-?: ItemOf<D[K]> };

export interface Update<D> {
  readonly $set?: { readonly [K in keyof D]?: NonNullable<D[K]> };
  readonly $unset?: { readonly [K in keyof D]?: "" };
  /** Adds; a missing field counts as 0. */
  readonly $inc?: FieldsOf<D, number>;
  /** Raises to at least the value; a missing field takes it. */
  readonly $max?: FieldsOf<D, number>;
  /** Appends. With an empty `$each` a missing field may stay missing or become an empty list; likewise in `$addToSet`. */
  readonly $push?: { readonly [K in keyof ListFields<D>]?: { readonly $each: readonly ListFields<D>[K][] } };
  /** Adds those of `$each` (scalars) that are not in the list yet. */
  readonly $addToSet?: { readonly [K in keyof ListFields<D>]?: { readonly $each: readonly ListFields<D>[K][] } };
  /** Removes scalars that are in `$in`, or items whose `id` is in it. */
  readonly $pull?: {
    readonly [K in keyof ListFields<D>]?: ListFields<D>[K] extends { readonly id: string }
      ? { readonly id: { readonly $in: readonly string[] } }
      : { readonly $in: readonly ListFields<D>[K][] };
  };
  /** Set only when an upsert inserts. The filter's plain equalities are set then too. */
  readonly $setOnInsert?: { readonly [K in keyof D]?: NonNullable<D[K]> };
}

/** Take what is needed out of it by name: a whole call may be passed, whose signal is made when it is first asked for. */
export interface OperationOptions extends Behalf {
  /** No operation starts once this is aborted; a running read may be abandoned, a running write never is. */
  readonly signal?: AbortSignal | undefined;
}

export interface FindOptions<D> extends OperationOptions {
  readonly sort?: { readonly [K in keyof D]?: 1 | -1 };
  readonly limit?: number;
  /**
   * Also what a newer version wrote, which is refused otherwise (`DocumentTooNewError`): for those who need no more of an
   * object than what all versions have alike, its events and the ids that it holds.
   */
  readonly ofAnyVersion?: boolean;
}

export interface UpdateOptions extends OperationOptions {
  /** Insert when nothing matches; the filter or `$setOnInsert` must give the `_id`. Of concurrent ones with the same filter, one inserts. */
  readonly upsert?: boolean;
}

interface FindAndUpdateOptions extends UpdateOptions {
  readonly returnDocument: "before" | "after";
}

export interface UpdateResult {
  readonly matchedCount: number;
  readonly modifiedCount: number;
  readonly upsertedCount: number;
}

interface DeleteResult {
  readonly deletedCount: number;
}

export type BulkOperation<D> =
  | { readonly insertOne: { readonly document: D } }
  | { readonly updateOne: { readonly filter: Filter<D>; readonly update: Update<D> } }
  | { readonly deleteOne: { readonly filter: Filter<D> } };

interface BulkResult {
  /** Documents that the members' updates found, all together. */
  readonly matchedCount: number;
}

/**
 * Operations on one collection. Each is atomic for the one document that it touches; `insertMany`, `deleteMany` and
 * `bulkWrite` are atomic for each document, in order, and stop at the first error.
 *
 * Rejects with `DuplicateKeyError` when a unique index refuses a write, and with `StoreUnavailableError` when the
 * store cannot be reached or does not answer in time.
 */
export interface Collection<D extends Identified> {
  findOne(filter: Filter<D>, options?: FindOptions<D>): Promise<D | null>;
  find(filter: Filter<D>, options?: FindOptions<D>): { toArray(): Promise<D[]> };
  /**
   * Finds the same documents, with nothing of them but their ids and these fields: the rest, which may be megabytes, is not
   * read. The embedded store knows those that an index has, and `deletedAt`.
   */
  findFields<K extends keyof D & string>(fields: readonly K[], filter: Filter<D>, options?: FindOptions<D>): Promise<Pick<D, K | "_id">[]>;
  insertOne(document: D, options?: OperationOptions): Promise<unknown>;
  insertMany(documents: readonly D[], options?: OperationOptions): Promise<unknown>;
  updateOne(filter: Filter<D>, update: Update<D>, options?: UpdateOptions): Promise<UpdateResult>;
  findOneAndUpdate(filter: Filter<D>, update: Update<D>, options: FindAndUpdateOptions): Promise<D | null>;
  deleteOne(filter: Filter<D>, options?: OperationOptions): Promise<DeleteResult>;
  deleteMany(filter: Filter<D>, options?: OperationOptions): Promise<DeleteResult>;
  bulkWrite(operations: readonly BulkOperation<D>[], options?: OperationOptions): Promise<BulkResult>;
  /**
   * Where writes are announced (`announceWrites`): announces what changing this document would void, and writes nothing. For
   * whoever acknowledges a document as it is: what made it so may be unknown to other nodes, if its writer died.
   */
  vouch?(document: D): Promise<void>;
}

/** Matches `text` literally, anywhere in a field that was stored lower-cased. */
export const containsText = (text: string): { readonly $regex: string } => ({
  $regex: text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll("\0", "\\x00"),
});
