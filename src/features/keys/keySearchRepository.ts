import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { Filter, OperationOptions } from "../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { beginningWith } from "../../platform/storage/port/textRange.ts";
import { notDeleted } from "../../platform/storage/repositories/shared/audited.ts";
import { foldCase } from "../../platform/util/foldCase.ts";

/** Characters of a name that its index holds: a position in it has to fit in a cursor. */
const NAME_KEY_LENGTH = 100;

/** How the name of a key is found: without letter case, its first 100 characters. */
export const nameKeyOf = (name: string): string => [...foldCase(name)].slice(0, NAME_KEY_LENGTH).join("");

/** What a search found in an index: the text by which it did, and the id of the key. */
export interface SearchEntry {
  readonly text: string;
  readonly id: string;
}

/** A text of a key that an index has. */
export type SearchedText = "start" | "nameKey";

/** Reads of keys that live, by indexes alone; every one reads no more entries than `limit`, but for the last two. */
export interface KeySearchRepository {
  /** Keys of one API whose text begins with `prefix`, ascending by text and id, behind `after`. */
  readonly findByText: (
    where: { readonly apiId: string; readonly field: SearchedText; readonly prefix: string },
    after: SearchEntry | undefined,
    limit: number,
    options: OperationOptions,
  ) => Promise<SearchEntry[]>;
  /** Keys of one API whose secret ends with these four characters, ascending by id, behind the id. */
  readonly findByLastFour: (
    where: { readonly apiId: string; readonly lastFour: string },
    after: string | undefined,
    limit: number,
    options: OperationOptions,
  ) => Promise<SearchEntry[]>;
  /** Keys of one API, of one identity if told, ascending by id, behind the id; with an identity its id is the text. */
  readonly findOfApi: (
    where: { readonly apiId: string; readonly identityId?: string },
    after: string | undefined,
    limit: number,
    options: OperationOptions,
  ) => Promise<SearchEntry[]>;
  /** Keys of any of these identities in any of these APIs, in no order; the id of the identity is the text. */
  readonly findOfIdentities: (
    where: { readonly apiIds: readonly string[]; readonly identityIds: readonly string[] },
    limit: number,
    options: OperationOptions,
  ) => Promise<SearchEntry[]>;
  /**
   * Ids of the first live identities whose externalId begins with `text` without regard to letter case, by that; and of the
   * one whose externalId it is, which an earlier version may have made.
   */
  readonly findIdentities: (text: string, limit: number, options: OperationOptions) => Promise<string[]>;
  /** The keys of these ids that live, in no order. */
  readonly findMany: (ids: readonly string[], options: OperationOptions) => Promise<KeyDocument[]>;
}

export const createKeySearchRepository = (store: Store): KeySearchRepository => {
  const keys = store.collection("keys");
  const identities = store.collection("identities");
  const workspaceId = WORKSPACE_ID;

  return {
    findByText: async ({ apiId, field, prefix }, after, limit, { signal, caller }) => {
      const read = async (bounds: Filter<KeyDocument>, most: number): Promise<SearchEntry[]> => {
        const filter = { workspaceId, apiId, ...notDeleted, ...bounds };
        const found = await keys.findFields([field], filter, { signal, caller, sort: { [field]: 1, _id: 1 }, limit: most });
        return found.map((key) => ({ text: key[field] ?? "", id: key._id }));
      };
      const range = beginningWith(prefix);
      if (after === undefined) return read({ [field]: range }, limit);
      // Keys of the same text first. The two conditions in one would have the engine sort what it finds.
      const same = await read({ [field]: after.text, _id: { $gt: after.id } }, limit);
      if (same.length === limit) return same;
      const { $gte: _from, ...until } = range;
      return [...same, ...(await read({ [field]: { ...until, $gt: after.text } }, limit - same.length))];
    },
    findByLastFour: async ({ apiId, lastFour }, after, limit, { signal, caller }) => {
      const behind = after === undefined ? {} : { _id: { $gt: after } };
      const filter = { workspaceId, apiId, lastFour, ...notDeleted, ...behind };
      const found = await keys.findFields([], filter, { signal, caller, sort: { lastFour: 1, _id: 1 }, limit });
      return found.map(({ _id }) => ({ text: "", id: _id }));
    },
    findOfApi: async (where, after, limit, { signal, caller }) => {
      const behind = after === undefined ? {} : { _id: { $gt: after } };
      const filter = { workspaceId, ...where, ...notDeleted, ...behind };
      const found = await keys.findFields([], filter, { signal, caller, sort: { _id: 1 }, limit });
      return found.map(({ _id }) => ({ text: where.identityId ?? "", id: _id }));
    },
    findOfIdentities: async ({ apiIds, identityIds }, limit, { signal, caller }) => {
      const filter = { workspaceId, identityId: { $in: identityIds }, apiId: { $in: apiIds }, ...notDeleted };
      const found = await keys.findFields(["identityId"], filter, { signal, caller, limit });
      return found.map(({ _id, identityId }) => ({ text: identityId ?? "", id: _id }));
    },
    findIdentities: async (text, limit, { signal, caller }) => {
      const exact = await identities.findFields([], { workspaceId, externalId: text, ...notDeleted }, { signal, caller, limit: 1 });
      const filter = { workspaceId, externalKey: beginningWith(foldCase(text)), ...notDeleted };
      const found = await identities.findFields([], filter, { signal, caller, sort: { externalKey: 1, _id: 1 }, limit });
      return [...new Set([...exact, ...found].map(({ _id }) => _id))].slice(0, limit);
    },
    findMany: (ids, options) => keys.find({ _id: { $in: ids }, ...notDeleted }, options).toArray(),
  };
};
