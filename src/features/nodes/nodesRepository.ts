import { SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { NodeDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { NodeFacts } from "../../platform/storage/port/nodeFacts.ts";
import type { Store } from "../../platform/storage/port/store.ts";

/** A node that is silent for so long is gone. */
const GONE_AFTER_MS = 60_000;
/** Far more nodes than a store can serve. */
const MOST = 1_000;

/** What a node tells of itself; `_id` is the node's id. */
export type NodeRow = NodeFacts & Pick<NodeDocument, "_id">;

export interface NodesRepository {
  /** Writes the row of a node, the first or another one. It is neither audited nor remembered by anybody. */
  readonly write: (row: NodeRow) => Promise<void>;
  readonly remove: (nodeId: string) => Promise<void>;
  /** Those that are not silent for 60 s at `now` (Unix ms), those that started first in front. */
  readonly list: (now: number, options?: OperationOptions) => Promise<readonly NodeDocument[]>;
  /** The newest form of entries of the audit log that all of those know; undefined when there are none. */
  readonly knownAuditFormat: (now: number) => Promise<number | undefined>;
}

/** The nodes on this store (management §7). */
export const createNodesRepository = (store: Store): NodesRepository => {
  const nodes = store.collection("nodes");
  const live = (now: number, options?: OperationOptions): Promise<NodeDocument[]> =>
    nodes.find({ expireAt: { $gt: new Date(now) } }, { ...options, limit: MOST }).toArray();
  return {
    write: async ({ _id, ...row }) => {
      const expireAt = new Date(row.lastSeenAt + GONE_AFTER_MS);
      await nodes.updateOne({ _id }, { $set: { ...row, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, expireAt } }, { upsert: true });
    },
    remove: async (nodeId) => {
      await nodes.deleteOne({ _id: nodeId });
    },
    list: async (now, options) => {
      const rows = await live(now, options);
      // A node of another version may have left it out.
      const startOf = ({ startedAt }: Partial<NodeFacts>): number => startedAt ?? 0;
      return rows.sort((a, b) => startOf(a) - startOf(b) || (a._id < b._id ? -1 : 1));
    },
    knownAuditFormat: async (now) => {
      const rows = await live(now);
      return rows.length === 0 ? undefined : Math.min(...rows.map(({ auditFormat = 1 }) => auditFormat));
    },
  };
};
