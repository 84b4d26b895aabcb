import type { BulkOperation, Filter, Identified, Update } from "../port/collection.ts";
import type { CollectionName, Documents } from "../port/documents.ts";
import { namespaceTag, overridesTag } from "../port/tags.ts";
import type { StoreOperation } from "./aroundCollection.ts";

/** What a write makes void of what nodes remember: ids of documents, hashes of secrets, tags. */
export interface Voids {
  /** What any node may remember. */
  readonly everywhere: readonly string[];
  /** Absences, which other nodes remember for no longer than a second (verify §12). */
  readonly here: readonly string[];
}

/** A write to a collection. */
export type Write<D> =
  | { readonly insert: readonly D[] }
  | { readonly filter: Filter<D>; readonly update: Update<D> }
  /** Removes what the filter matches. */
  | { readonly filter: Filter<D>; readonly update?: undefined };

interface Rule<D> {
  readonly made: (document: D) => Partial<Voids>;
  /** Void when the documents that the filter names are changed, or removed; undefined when it does not name them. */
  readonly changed: (filter: Filter<D>) => readonly string[] | undefined;
}

/** Fields that no node remembers: a write that touches nothing else voids nothing. */
const UNREMEMBERED: ReadonlySet<string> = new Set([
  "outbox",
  "outboxChanges",
  "pendingMark",
  "v",
  "revision",
  "quietRevisions",
  "copyId",
  "lastUsedAt",
  "usedPermissions",
  "usesRevision",
]);

/** Only the store decides a spend, so a balance is remembered as what it was. To set one is another matter: it may be the first. */
const isSpend = (operator: string, field: string): boolean => operator === "$inc" && field === "remaining";

const touchesRemembered = (update: object): boolean =>
  Object.entries(update).some(([operator, fields]) =>
    Object.keys(fields as object).some((field) => !UNREMEMBERED.has(field) && !isSpend(operator, field)),
  );

const named = (condition: unknown): readonly string[] | undefined => {
  if (typeof condition === "string") return [condition];
  return (condition as { readonly $in?: readonly string[] } | undefined)?.$in;
};
const byId = (filter: object): readonly string[] | undefined => named((filter as { readonly _id?: unknown })._id);

/** Nobody remembers an object before it is there: its id is in nobody's hands. */
const nothing = (): Partial<Voids> => ({});
const object: Rule<Identified> = { made: nothing, changed: byId };
const secret: Rule<Identified & { readonly hash?: string }> = {
  made: ({ hash }) => (hash === undefined ? {} : { here: [hash] }),
  changed: byId,
};

/** For every collection what writing to it voids; undefined for one of which nodes remember nothing. */
const rules: { readonly [N in CollectionName]: Rule<Documents[N]> | undefined } = {
  apis: object,
  keys: secret,
  identities: object,
  permissions: object,
  roles: object,
  rootKeys: secret,
  namespaces: { made: ({ name }) => ({ here: [namespaceTag(name)] }), changed: byId },
  // A node remembers all overrides of a namespace together, so a new one is a change of what it has.
  overrides: {
    made: ({ namespaceId }) => ({ everywhere: [overridesTag(namespaceId)] }),
    changed: ({ namespaceId }) => named(namespaceId)?.map(overridesTag),
  },
  migrations: object,
  // A call of the console reads its session anew: one that was ended is so at once, on every node.
  sessions: undefined,
  failedSignIns: undefined,
  counters: undefined,
  changes: undefined,
  idempotency: undefined,
  audit: undefined,
  auditIndex: undefined,
  leases: undefined,
  sweeps: undefined,
  nodes: undefined,
  system: undefined,
};

const NOTHING: Voids = { everywhere: [], here: [] };

/** Whether nodes remember anything of this collection. */
export const isRemembered = (name: CollectionName): boolean => rules[name] !== undefined;

const voidsOf = <D extends Identified>(name: CollectionName, rule: Rule<D>, write: Write<D>): Voids => {
  if ("insert" in write) {
    const made = write.insert.map(rule.made);
    return { everywhere: made.flatMap(({ everywhere = [] }) => everywhere), here: made.flatMap(({ here = [] }) => here) };
  }
  const { filter, update } = write;
  if (update !== undefined && !touchesRemembered(update)) return NOTHING;
  const changed = rule.changed(filter);
  if (changed === undefined) throw new Error(`a change in ${name} has to name what it changes: nodes remember it`);
  const hash = (update?.$set as { readonly hash?: string } | undefined)?.hash;
  return { everywhere: changed, here: hash === undefined ? [] : [hash] };
};

/** What a write voids. Throws when that cannot be told by what is written. */
export const voidsOfWrite = <N extends CollectionName>(name: N, write: Write<Documents[N]>): Voids => {
  const rule: Rule<Documents[N]> | undefined = rules[name];
  return rule === undefined ? NOTHING : voidsOf(name, rule, write);
};

const voidsOfBulk = <N extends CollectionName>(name: N, operations: readonly BulkOperation<Documents[N]>[]): Voids => {
  const all = operations.map((operation) => {
    if ("insertOne" in operation) return voidsOfWrite(name, { insert: [operation.insertOne.document] });
    return voidsOfWrite(name, "updateOne" in operation ? operation.updateOne : operation.deleteOne);
  });
  const once = (ids: readonly string[]): readonly string[] => [...new Set(ids)];
  return { everywhere: once(all.flatMap(({ everywhere }) => everywhere)), here: once(all.flatMap(({ here }) => here)) };
};

/** What a write voids, see `AroundOperation`. */
export const voidsOfOperation = ({ collection, name }: StoreOperation, target: object = {}, update?: object): Voids => {
  switch (name) {
    case "insertOne":
      return voidsOfWrite(collection, { insert: [target as never] });
    case "insertMany":
      return voidsOfWrite(collection, { insert: target as never[] });
    case "bulkWrite":
      return voidsOfBulk(collection, target as never[]);
    default:
      return voidsOfWrite(collection, { filter: target, update: update as never });
  }
};
