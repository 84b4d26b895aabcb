import type { CollectionName } from "./documents.ts";
import type { NodeDocument, SystemDocument } from "./internalDocuments.ts";
import type { PendingChange } from "./pendingChange.ts";

/** What a store tells of its state without being changed, also beside running nodes. */
export interface StoreLook {
  /** Null: no version has made the store yet. */
  readonly schema: SystemDocument | null;
  /** What opening it would change, in that order. */
  readonly changes: readonly PendingChange[];
  /** About how many documents a collection has. */
  readonly count: (name: CollectionName) => Promise<number>;
  /** The rows of the nodes that live, `v` the schema that each of them writes. On the embedded store none. */
  readonly nodes: readonly Pick<NodeDocument, "v" | "analytics">[];
}
