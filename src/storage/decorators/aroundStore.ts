import type { CollectionName } from "../port/documents.ts";
import type { Store } from "../port/store.ts";
import { type AroundOperation, aroundCollection, type StoreOperation } from "./aroundCollection.ts";
import { aroundCounters } from "./aroundCounters.ts";

/** The same collection for the same name, made when it is first asked for. */
export const madeOnce = (make: Store["collection"]): Store["collection"] => {
  const made = new Map<CollectionName, unknown>();
  // What is kept by a name is what was made for it.
  return <C>(name: CollectionName): C => made.getOrInsertComputed(name, () => make(name)) as C;
};

/**
 * The collections and counters of a store, with the same around every operation on them.
 * @param beforeRead see `aroundCounters`.
 */
export const aroundStore = (
  store: Store,
  around: AroundOperation,
  beforeRead?: () => void,
): Pick<Store, "collection" | "collectionsWith" | "counters"> => ({
  collection: madeOnce((name) => aroundCollection(name, store.collection(name), around)),
  collectionsWith: async (field, among) => {
    const [first] = among;
    if (first === undefined) return [];
    // A find in several collections stands for one in the first of them.
    const find: StoreOperation = { collection: first, name: "find", kind: "read" };
    return around(find, () => store.collectionsWith(field, among), undefined, { [field]: { $exists: true } });
  },
  counters: aroundCounters(store.counters, around, beforeRead),
});
