import { chunks } from "../../../util/chunks.ts";
import { applyUpdate } from "../../port/applyUpdate.ts";
import type { AuditEvent } from "../../port/auditEvents.ts";
import type { AuditedCollection } from "../../port/auditedCollections.ts";
import type { OperationOptions } from "../../port/collection.ts";
import type { KeyDocument, RootKeyDocument, StoredRatelimit } from "../../port/documents.ts";
import type { Store } from "../../port/store.ts";
import { notDeleted } from "./audited.ts";
import { addedText, redactedText, replacedText } from "./changeText.ts";
import { type Named, type Telling, toldFields, toldOfRatelimits } from "./toldFields.ts";

type Fields = Readonly<Record<string, unknown>>;
type Table = Readonly<Record<string, Telling | undefined>>;

/** Documents that one query looks for. */
const LOOKED_UP = 1_000;

/** A field whose value is not what it was; `by`: whatever it was, so much was added. */
interface Difference {
  readonly telling: Telling;
  readonly before: unknown;
  readonly after: unknown;
  readonly by?: number;
  /** Nobody knows what it was: it may differ, or not. */
  readonly isUnsure?: boolean;
}

const differences = (table: Table, before: Fields, after: Fields, added: Fields = {}, unsure: readonly string[] = []): Difference[] =>
  Object.entries(table).flatMap(([field, telling]) => {
    if (telling === undefined) return [];
    const by = added[field];
    if (unsure.includes(field)) return { telling, before: undefined, after: after[field], isUnsure: true };
    if (typeof by === "number") return { telling, before: undefined, after: undefined, by };
    return before[field] === after[field] ? [] : { telling, before: before[field], after: after[field] };
  });

type NamesText = (ids: unknown, of: keyof Named) => string | undefined;

const tell = (found: readonly Difference[], namesText: NamesText): string[] =>
  found.flatMap(({ telling, before, after, by, isUnsure }) => {
    if (by !== undefined) return by === 0 ? [] : addedText(telling.as, by);
    if ("redacted" in telling) return redactedText(telling.as);
    const [old, next] = [before, after].map((value) => ("namesOf" in telling ? namesText(value, telling.namesOf) : telling.textOf(value)));
    return old === next && !isUnsure ? [] : replacedText(telling.as, old, next);
  });

const noNames: NamesText = () => undefined;

/** The `changes` of an event that tells of a part of its write only. Of fields that hold ids nothing is told. */
export const changesOfKey = (before: KeyDocument, after: KeyDocument): readonly string[] =>
  tell(differences(toldFields.keys, { ...before }, { ...after }), noNames);
export const changesOfRootKey = (before: RootKeyDocument, after: RootKeyDocument): readonly string[] =>
  tell(differences(toldFields.rootKeys, { ...before }, { ...after }), noNames);
export const changesOfRatelimit = (before: StoredRatelimit, after: StoredRatelimit): readonly string[] =>
  tell(differences(toldOfRatelimits, { ...before }, { ...after }), noNames);

const idsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : value === undefined ? [] : [value as string]);

const readNames = async (
  store: Store,
  of: keyof Named,
  ids: readonly string[],
  { signal, caller }: OperationOptions,
): Promise<ReadonlyMap<string, string>> => {
  const names = new Map<string, string>();
  for (const chunk of chunks([...new Set(ids)], LOOKED_UP)) {
    const filter = { _id: { $in: chunk }, ...notDeleted };
    const options = { signal, caller };
    if (of === "permissions") {
      for (const { _id, slug } of await store.collection("permissions").find(filter, options).toArray()) names.set(_id, slug);
    } else if (of === "roles") {
      for (const { _id, name } of await store.collection("roles").find(filter, options).toArray()) names.set(_id, name);
    } else {
      const found = await store.collection("identities").find(filter, options).toArray();
      for (const { _id, externalId } of found) if (externalId !== undefined) names.set(_id, externalId);
    }
  }
  return names;
};

/** A list by its names, sorted, as they are shown, one id by its name. What is deleted is in nobody's hands any more. */
const shownBy =
  (namesOf: ReadonlyMap<keyof Named, ReadonlyMap<string, string>>): NamesText =>
  (ids, of) => {
    const known = idsOf(ids).flatMap((id) => namesOf.get(of)?.get(id) ?? []);
    if (Array.isArray(ids)) return JSON.stringify([...new Set(known)].sort());
    return known[0] === undefined ? undefined : JSON.stringify(known[0]);
  };

/** What a write does to a document. `before`: as it is, but for what other events of the write tell of. */
export interface DescribedWrite {
  readonly before: object;
  readonly update: object;
}

/** What events tell of a write. */
export interface Description {
  readonly changes: readonly string[];
  /** The same where these fields may be another by then than they were when they were read: what they become is told, and not what they were. */
  readonly without: (unsure: readonly string[]) => readonly string[];
}

/** The fields that an update replaces and that may change between a reading and a write that asks for the revision that was read. */
export const spentFields = (
  collection: AuditedCollection,
  { $set, $unset }: { readonly $set?: object; readonly $unset?: object },
): string[] => {
  const table: Table = toldFields[collection];
  return Object.keys({ ...$set, ...$unset }).filter((field) => {
    const telling = table[field];
    return telling !== undefined && "isSpent" in telling;
  });
};

/**
 * What events tell that a write changes (management §4): JSON texts, one for each field, in the order of the table. Reads the names of
 * what lists of ids stand for. A secret, or what is made of one, is never told.
 */
export const describeChanges = async (
  store: Store,
  collection: AuditedCollection,
  { before, update }: DescribedWrite,
  options: OperationOptions = {},
): Promise<Description> => {
  const { $inc = {} } = update as { readonly $inc?: Fields };
  const after = applyUpdate(before as Record<string, unknown>, update as Fields, false);
  const foundWithout = (unsure: readonly string[]) => differences(toldFields[collection], before as Fields, after, $inc, unsure);
  const found = foundWithout([]);
  const namesOf = new Map<keyof Named, ReadonlyMap<string, string>>();
  for (const each of found) {
    if (!("namesOf" in each.telling)) continue;
    const ids = [...idsOf(each.before), ...idsOf(each.after)];
    namesOf.set(each.telling.namesOf, await readNames(store, each.telling.namesOf, ids, options));
  }
  const shown = shownBy(namesOf);
  return { changes: tell(found, shown), without: (unsure) => tell(foundWithout(unsure), shown) };
};

const isUpdate = ({ event }: AuditEvent): boolean => event.endsWith(".update") || event.endsWith(".set_override");

/**
 * The events of one write, one of which tells what it changed: the one that says that its object was updated, or else the first.
 * Events that tell something already tell of their own part.
 */
export const withChanges = (events: readonly AuditEvent[], changes: readonly string[]): readonly AuditEvent[] => {
  const silent = events.filter((event) => event.changes === undefined);
  const teller = silent.find(isUpdate) ?? silent[0];
  return events.map((event) => (event === teller ? { ...event, changes } : event));
};
