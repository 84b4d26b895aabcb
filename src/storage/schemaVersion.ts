import { SCHEMA_VERSION, WORKSPACE_ID } from "./port/baseDocument.ts";
import type { Collection } from "./port/collection.ts";
import { DuplicateKeyError } from "./port/errors.ts";
import type { SystemDocument } from "./port/internalDocuments.ts";

/** The store holds documents of a newer version of Latchkey. Nothing was changed. */
export class SchemaTooNewError extends Error {
  constructor(found: number) {
    super(`the store was written by a newer version: its schema is ${found}, this version understands up to ${SCHEMA_VERSION}`);
    this.name = "SchemaTooNewError";
  }
}

const refuseNewer = (system: SystemDocument | null): void => {
  if (system?.schema !== undefined && system.schema > SCHEMA_VERSION) throw new SchemaTooNewError(system.schema);
};

/**
 * Raises the store's schema version to ours. Safe to call from several nodes at once.
 * Rejects with `SchemaTooNewError` when the store's is newer.
 */
export const claimSchemaVersion = async (system: Collection<SystemDocument>, signal?: AbortSignal): Promise<void> => {
  refuseNewer(await system.findOne({ _id: "schema" }, { signal }));
  const claim = () =>
    system.findOneAndUpdate(
      { _id: "schema" },
      { $max: { schema: SCHEMA_VERSION }, $setOnInsert: { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID } },
      { upsert: true, returnDocument: "after", signal },
    );
  const claimed = await claim().catch((error: unknown) => {
    // Another node inserted it between our search and our insert; now there is something to update.
    if (error instanceof DuplicateKeyError) return claim();
    throw error;
  });
  refuseNewer(claimed);
};
