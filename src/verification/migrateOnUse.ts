import { hash } from "node:crypto";
import { auditEvent, resource } from "../audit/auditEvent.ts";
import { createId } from "../domain/ids.ts";
import type { OperationOptions } from "../storage/collection.ts";
import { DuplicateKeyError } from "../storage/errors.ts";
import { hashTag, type KeyChange, type KeysRepository } from "../storage/keys.ts";
import type { MigrationsRepository } from "../storage/migrations.ts";
import type { ObjectCaches } from "./objectCaches.ts";

/**
 * Gives a key that another system hashed its own hash, the first time it is used with its migration (verify §8).
 * True: the key is now found under `ownHash`. False: there is nothing to migrate, or the caller may not verify it.
 */
export type MigrateOnUse = (
  key: string,
  ownHash: string,
  migrationId: string,
  mayVerify: (apiId: string) => boolean,
  call: OperationOptions & { readonly receivedAt: number },
) => Promise<boolean>;

export interface MigrateOnUseOptions {
  readonly keys: KeysRepository;
  readonly migrations: MigrationsRepository;
  readonly objects: Pick<ObjectCaches, "api">;
}

/** `<prefix>_<shortToken>_<longToken>`, taken apart from the right: the prefix may hold `_`. */
const takeApart = (key: string): { readonly prefix: string; readonly tokens: string; readonly longToken: string } | undefined => {
  const parts = key.split("_");
  const longToken = parts.pop();
  const shortToken = parts.pop();
  if (!longToken || !shortToken || parts.length === 0) return undefined;
  return { prefix: parts.join("_"), tokens: `${shortToken}_${longToken}`, longToken };
};

export const createMigrateOnUse =
  ({ keys, migrations, objects }: MigrateOnUseOptions): MigrateOnUse =>
  async (key, ownHash, migrationId, mayVerify, call) => {
    const migration = await migrations.find(migrationId, call);
    // Keys of `sha256` migrations have our own hash from the start.
    if (migration?.algorithm !== "github.com/seamapi/prefixed-api-key") return false;
    const parts = takeApart(key);
    if (parts === undefined) return false;
    const found = await keys.findByHash(hash("sha256", parts.longToken, "hex"), call);
    if (found?.pendingMigrationId !== migrationId || !mayVerify(found.apiId)) return false;
    if ((await objects.api(found.apiId)).value === null) return false;

    const now = call.receivedAt;
    const source = { actor: { type: "system", id: "system" }, correlationId: createId("cor", now), now } as const;
    const rehash = (current: {
      readonly _id: string;
      readonly name?: string;
      readonly pendingMigrationId?: string;
    }): KeyChange | undefined => {
      // Someone else was faster.
      if (current.pendingMigrationId === undefined) return undefined;
      const display = `Took over key ${current._id} of migration ${migrationId}`;
      return {
        update: {
          $set: { hash: ownHash, start: `${parts.prefix}_${parts.tokens.slice(0, 4)}`, updatedAt: now },
          $unset: { pendingMigrationId: "" },
        },
        voids: [hashTag(ownHash)],
        events: [auditEvent(source, "key.update", display, resource("key", current._id, current.name))],
      };
    };
    try {
      return (await keys.modify(found._id, rehash, call)) !== null;
    } catch (error) {
      // The same key was issued or imported once more, and deleted: its hash stays taken.
      if (error instanceof DuplicateKeyError) return false;
      throw error;
    }
  };
