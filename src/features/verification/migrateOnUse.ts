import { hash } from "node:crypto";
import type { Clock } from "../../platform/base/clock.ts";
import { createId } from "../../platform/base/ids.ts";
import type { Contact } from "../../platform/cache/contact.ts";
import { createCache } from "../../platform/cache/createCache.ts";
import type { Invalidations } from "../../platform/cache/invalidations.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { KeyDocument, MigrationDocument } from "../../platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../platform/storage/port/errors.ts";
import { auditEvent, resource } from "../audit/auditEvent.ts";
import type { KeyModification, KeysRepository } from "../keys/keysRepository.ts";
import type { MigrationsRepository } from "../migrations/migrationsRepository.ts";
import type { ObjectCaches } from "./objectCaches.ts";

const MAX_BYTES = 4 * 1024 * 1024;
/** Callers may send their migrationId always, so a flood of unknown keys comes here, too (verify §12). */
const BELIEVED_FOR_MS = 1_000;
/** Characters of a long token from which on its last four are kept. */
const LEAST_ENDED = 16;

/**
 * Gives a key that another system hashed its own hash, the first time it is used with its migration (verify §8).
 * True: look again under `ownHash`, a key is or may be there now. False: there is nothing to migrate, or the caller
 * may not verify it.
 */
export type MigrateOnUse = (
  key: string,
  ownHash: string,
  migrationId: string,
  mayVerify: (apiId: string) => boolean,
  call: OperationOptions & { readonly receivedAt: number },
) => Promise<boolean>;

export interface MigrateOnUseOptions {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  readonly keys: KeysRepository;
  readonly migrations: MigrationsRepository;
  readonly objects: Pick<ObjectCaches, "api">;
}

interface Parts {
  /** Hex SHA-256 of the long token: what the other system stored. */
  readonly foreignHash: string;
  /** The prefix, `_`, and four characters. */
  readonly start: string;
  /** Of the key; undefined where they would be too much of its secret. */
  readonly lastFour: string | undefined;
}

/** `<prefix>_<shortToken>_<longToken>`, taken apart from the right: the prefix may hold `_`. */
const takeApart = (key: string): Parts | undefined => {
  const parts = key.split("_");
  const longToken = parts.pop();
  const shortToken = parts.pop();
  if (!longToken || !shortToken || parts.length === 0) return undefined;
  // By characters: half of one could neither be stored nor sent.
  const [...tokens] = `${shortToken}_${longToken}`;
  const [...secretPart] = longToken;
  const lastFour = secretPart.length < LEAST_ENDED ? undefined : secretPart.slice(-4).join("");
  return { foreignHash: hash("sha256", longToken, "hex"), start: `${parts.join("_")}_${tokens.slice(0, 4).join("")}`, lastFour };
};

/** What a migrated key would have for a hash until its first verification, if this text is its secret; undefined if it cannot be. */
export const foreignHashOf = (key: string): string | undefined => takeApart(key)?.foreignHash;

/** What takes a waiting key over; undefined when someone else was faster. */
const takeOver =
  (migrationId: string, ownHash: string, { foreignHash, start, lastFour }: Parts, now: number) =>
  (key: KeyDocument): KeyModification | undefined => {
    if (key.pendingMigrationId === undefined) return undefined;
    const source = { actor: { type: "system", id: "system" }, correlationId: createId("cor", now), now } as const;
    const display = `Took over key ${key._id} of migration ${migrationId}`;
    return {
      update: {
        $set: { hash: ownHash, importedHash: foreignHash, start, ...(lastFour === undefined ? {} : { lastFour }), updatedAt: now },
        $unset: { pendingMigrationId: "" },
      },
      events: [auditEvent(source, "key.update", display, resource("key", key._id, key.name))],
    };
  };

export const createMigrateOnUse = (options: MigrateOnUseOptions): MigrateOnUse => {
  const { clock, invalidations, contact, keys, migrations, objects } = options;

  const algorithms = createCache<MigrationDocument["algorithm"] | undefined>({
    clock,
    invalidations,
    contact,
    maxBytes: MAX_BYTES,
    load: async (migrationId, behalf) => {
      const sentAt = clock.monotonic();
      const value = (await migrations.find(migrationId, behalf))?.algorithm;
      return { value, dependsOn: [migrationId], sentAt, ...(value === undefined ? { maxAge: BELIEVED_FOR_MS } : {}) };
    },
  });

  /** By both hashes. A key moves from the foreign one to its own, so that looking in this order never misses it. */
  const candidates = createCache<KeyDocument | null>({
    clock,
    invalidations,
    contact,
    maxBytes: MAX_BYTES,
    load: async (hashes, behalf) => {
      const sentAt = clock.monotonic();
      const [foreignHash = "", ownHash = ""] = hashes.split(" ");
      const value = (await keys.findByHash(foreignHash, behalf)) ?? (await keys.findByHash(ownHash, behalf));
      const dependsOn = [foreignHash, ownHash, ...(value === null ? [] : [value._id])];
      return { value, dependsOn, sentAt, maxAge: BELIEVED_FOR_MS };
    },
  });

  return async (key, ownHash, migrationId, mayVerify, call) => {
    const parts = takeApart(key);
    if (parts === undefined) return false;
    // Keys of `sha256` migrations have our own hash from the start.
    if ((await algorithms.get(migrationId, call)).value !== "github.com/seamapi/prefixed-api-key") return false;
    const { value: found } = await candidates.get(`${parts.foreignHash} ${ownHash}`, call);
    if (found === null) return false;
    if (found.hash !== ownHash) {
      if (found.pendingMigrationId !== migrationId || !mayVerify(found.apiId)) return false;
      if ((await objects.api(found.apiId, call)).value === null) return false;
      try {
        await keys.modify(found._id, takeOver(migrationId, ownHash, parts, call.receivedAt), call);
      } catch (error) {
        // The same key was issued or imported once more: who looks again finds that one, unless it is deleted.
        if (!(error instanceof DuplicateKeyError)) throw error;
      }
    }
    // Whoever took it over, perhaps another node: what is cached here is from before.
    invalidations.invalidate([ownHash]);
    return true;
  };
};
