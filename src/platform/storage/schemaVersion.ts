import { SCHEMA_VERSION, WORKSPACE_ID } from "./port/baseDocument.ts";
import type { Collection } from "./port/collection.ts";
import { DuplicateKeyError, StoreUnavailableError } from "./port/errors.ts";
import type { SystemDocument } from "./port/internalDocuments.ts";
import type { PendingChange } from "./port/pendingChange.ts";

/** The store holds documents of a newer version of Latchkey. Nothing was changed. */
export class SchemaTooNewError extends Error {
  constructor(found: number) {
    super(`the store was written by a newer version: its schema is ${found}, this version understands up to ${SCHEMA_VERSION}`);
    this.name = "SchemaTooNewError";
  }
}

/** A restore into the store did not end: part of what it has to hold is missing. Nothing was changed. */
class StoreUnfinishedError extends Error {
  constructor() {
    super('a restore into this store did not end: run "latchkey restore" with the same file again, or begin with an empty store');
    this.name = "StoreUnfinishedError";
  }
}

/**
 * The schema of a store while a restore into it goes on: no version understands it, so that those refuse the store as well that know
 * nothing of restores.
 */
export const RESTORING_SCHEMA = 1_000_000;

/**
 * Throws for a store that this version cannot use: `StoreUnfinishedError` where a restore did not end, else `SchemaTooNewError`.
 * @param opensUnfinished for the restore itself
 */
export const refuseUnusable = (system: SystemDocument | null, opensUnfinished = false): void => {
  if (system?.restoring !== undefined) {
    if (!opensUnfinished) throw new StoreUnfinishedError();
  } else if (system?.schema !== undefined && system.schema > SCHEMA_VERSION) {
    throw new SchemaTooNewError(system.schema);
  }
};

/** Nobody has brought the store up to date, and this process is not to do it. Nothing was changed. */
export class StoreNotMigratedError extends StoreUnavailableError {
  constructor(schema: number | undefined, due: readonly PendingChange[]) {
    const named = due.map(({ kind, collection, name }) => `${kind} ${collection}.${name}`);
    const version = schema === SCHEMA_VERSION ? [] : [`schema ${schema ?? "none"}, not ${SCHEMA_VERSION}`];
    super(`the store is not up to date (${[...version, ...named].join(", ")}): run "latchkey migrate", or leave MIGRATE at on`);
    this.name = "StoreNotMigratedError";
  }
}

/**
 * Raises the store's schema version to ours. Safe to call from several nodes at once.
 * Rejects with `SchemaTooNewError` when the store's is newer, and with `StoreUnfinishedError` where a restore did not end.
 * @param opensUnfinished for the restore itself
 * @returns for the log: our version, and the one that was raised to it, if there was a lower one
 */
export const claimSchemaVersion = async (
  system: Collection<SystemDocument>,
  signal?: AbortSignal,
  opensUnfinished = false,
): Promise<{ readonly schema: number; readonly raisedFrom?: number }> => {
  const found = await system.findOne({ _id: "schema" }, { signal });
  refuseUnusable(found, opensUnfinished);
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
  refuseUnusable(claimed, opensUnfinished);
  const { schema = SCHEMA_VERSION } = found ?? {};
  return { schema: SCHEMA_VERSION, ...(schema < SCHEMA_VERSION && { raisedFrom: schema }) };
};
