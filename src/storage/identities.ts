import { newDocument, notDeleted } from "./audited.ts";
import type { OperationOptions } from "./collection.ts";
import { type AuditEvent, type IdentityDocument, WORKSPACE_ID } from "./documents.ts";
import { insertOrReuse } from "./insertOrReuse.ts";
import type { Store } from "./store.ts";

export interface IdentitiesRepository {
  readonly find: (identityId: string, options?: OperationOptions) => Promise<IdentityDocument | null>;
  /** The live identity of this externalId, made without metadata or limits if there is none (keys §1.7). */
  readonly findOrCreate: (
    externalId: string,
    create: { id: string; now: number; events: readonly AuditEvent[] },
    options?: OperationOptions,
  ) => Promise<IdentityDocument>;
}

export const createIdentitiesRepository = (store: Store): IdentitiesRepository => {
  const identities = store.collection("identities");
  return {
    find: (identityId, options) => identities.findOne({ _id: identityId, ...notDeleted }, options),
    findOrCreate: (externalId, { id, now, events }, options) =>
      insertOrReuse(
        () => identities.findOne({ workspaceId: WORKSPACE_ID, externalId, ...notDeleted }, options),
        async () => {
          const identity: IdentityDocument = { ...newDocument(id, now, events), externalId, ratelimits: [], revision: 0 };
          await identities.insertOne(identity, options);
          return identity;
        },
      ),
  };
};
