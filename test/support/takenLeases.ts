import type { LeaseDocument } from "../../src/storage/port/internalDocuments.ts";
import type { Store } from "../../src/storage/port/store.ts";

/** The leases that are held, without what nodes have agreed on at their start. */
export const takenLeases = async (store: Store): Promise<readonly LeaseDocument[]> =>
  (await store.collection("leases").find({}).toArray()).filter(({ _id }) => !_id.startsWith("counters "));
