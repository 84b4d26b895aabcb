import { foldCase } from "../../../util/foldCase.ts";
import type { AuditedDocument } from "../../port/baseDocument.ts";
import { type Collection, containsText, type Filter, type OperationOptions } from "../../port/collection.ts";
import { notDeleted } from "./audited.ts";

/** What a list asks for (protocol §10). */
export interface PageRequest {
  /** 1–100. */
  readonly limit: number;
  /** Id of the page's first object, or a position between two; empty = from the start. */
  readonly cursor: string;
  /** Part of the stored search text, in any letter case; blank = no filter. */
  readonly search?: string;
}

export interface Page<D> {
  readonly items: readonly D[];
  /** Where the next page begins; undefined when this is the last one. */
  readonly next: string | undefined;
}

/** A capital letter occurs in no folded text, so no search reaches from one text into the next. */
const SEPARATOR = "X";

/** How texts are stored to be searched: without letter case, one after the other. */
export const searchText = (...texts: readonly (string | undefined)[]): string =>
  texts.flatMap((text) => (text === undefined ? [] : foldCase(text))).join(SEPARATOR);

/**
 * One page of the live documents, ascending by id; one more is read to know whether there is a next one. Objects that
 * exist throughout appear exactly once, whatever comes and goes meanwhile.
 * @param filter what an index finds beside `deletedAt`, or which ids.
 */
export const readPage = async <D extends AuditedDocument & { readonly search?: string }>(
  collection: Collection<D>,
  filter: Filter<D>,
  { limit, cursor, search = "" }: PageRequest,
  { signal, caller }: OperationOptions,
): Promise<Page<D>> => {
  const wanted = foldCase(search.trim());
  const among = filter._id as Filter<AuditedDocument>["_id"] & object;
  const fields: Filter<AuditedDocument & { readonly search?: string }> = {
    ...(cursor === "" ? {} : { _id: { ...among, $gte: cursor } }),
    ...(wanted === "" ? {} : { search: containsText(wanted) }),
    ...notDeleted,
  };
  // The compiler cannot see that these fields are fields of every D.
  const all = { ...filter, ...(fields as unknown as Filter<D>) };
  const sort = { _id: 1 } as unknown as { readonly [K in keyof D]?: 1 };
  const read = await collection.find(all, { signal, caller, sort, limit: limit + 1 }).toArray();
  return { items: read.slice(0, limit), next: read[limit]?._id };
};

/** Rows that one page looks at, when most of them are not what is searched for. */
const MOST_LOOKED_AT = 1_000;
/** Of those, so many are read at once. */
const READ_AT_ONCE = 250;

/**
 * One page of the live documents, newest first: ids begin with the time of their making. A search looks at a thousand
 * documents at most, and its page may then be short, or empty, with a next one.
 * @param ids only these; no other document is looked at. Undefined: all.
 * @param page `search`: part of the id or the name, in any letter case; its cursor is a place, which need not be a find.
 */
export const readNewestPage = async <D extends AuditedDocument & { readonly name: string }>(
  collection: Collection<D>,
  ids: ReadonlySet<string> | undefined,
  { limit, cursor, search = "" }: PageRequest,
  { signal, caller }: OperationOptions,
): Promise<Page<D>> => {
  if (ids?.size === 0) return { items: [], next: undefined };
  const wanted = foldCase(search);
  const isFound = ({ _id, name }: D): boolean => wanted === "" || [_id, name].some((text) => foldCase(text).includes(wanted));
  const among = ids === undefined ? {} : { $in: [...ids] };
  const sort = { _id: -1 } as unknown as { readonly [K in keyof D]?: -1 };
  const items: D[] = [];
  let from: { readonly $lte?: string; readonly $lt?: string } = cursor === "" ? {} : { $lte: cursor };
  for (let looked = 0; ; ) {
    const places = { ...among, ...from };
    // The compiler cannot see that these fields are fields of every D.
    const filter = { ...(Object.keys(places).length === 0 ? {} : { _id: places }), ...notDeleted } as unknown as Filter<D>;
    const most = wanted === "" ? limit + 1 : Math.min(READ_AT_ONCE, MOST_LOOKED_AT + 1 - looked);
    const read = await collection.find(filter, { signal, caller, sort, limit: most }).toArray();
    for (const document of read) {
      if (looked++ === MOST_LOOKED_AT) return { items, next: document._id };
      if (!isFound(document)) continue;
      if (items.length === limit) return { items, next: document._id };
      items.push(document);
    }
    const last = read.at(-1);
    if (last === undefined || read.length < most) return { items, next: undefined };
    from = { $lt: last._id };
  }
};
