import type { CollectionName } from "../port/documents.ts";
import type { Store } from "../port/store.ts";
import { type AroundOperation, aroundCollection, type StoreOperation } from "./aroundCollection.ts";
import { aroundCounters } from "./aroundCounters.ts";

/** Of no collection in particular, as a ping is. */
const COLLECTIONS_WITH: StoreOperation = { collection: "system", name: "collectionsWith", kind: "read" };

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
  collectionsWith: (field, among) => around(COLLECTIONS_WITH, () => store.collectionsWith(field, among), undefined),
  counters: aroundCounters(store.counters, around, beforeRead),
});
