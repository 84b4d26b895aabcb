import { setImmediate as nextTurn } from "node:timers/promises";
import type { MigrateKey, MigrateKeysRequestSchema, MigrateKeysResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { ApiDocument, KeyDocument } from "../../../platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../../platform/storage/port/errors.ts";
import { chunks } from "../../../platform/util/chunks.ts";
import type { ApisRepository } from "../../apis/apisRepository.ts";
import { findApi } from "../../apis/findApi.ts";
import { resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Call, Procedure } from "../../calls/call.ts";
import { changeSeveral } from "../../calls/mutations.ts";
import { findMigration, type MigrationsDeps } from "../../migrations/findMigration.ts";
import type { RootKeysRepository } from "../../rootKeys/rootKeysRepository.ts";
import type { KeysRepository } from "../keysRepository.ts";
import { type ImportReferences, type ImportReferencesDeps, importReferences } from "./shared/importReferences.ts";
import { keyCreated, storeKey } from "./shared/keyConfiguration.ts";

/** Owner of a hash that no key can have. */
const A_ROOT_KEY = "a root key";

/** Keys of one read or write of the store: enough to be fast, few enough to end well within an operation's time. */
const CHUNK = 500;
/** The same for what is written with a key: it may have a thousand permissions, and an event for each. */
const WRITTEN_AT_ONCE = 4 * CHUNK;
/** Each failed attempt means that someone else imported one of the hashes meanwhile. */
const INSERT_ATTEMPTS = 100;

export interface MigrateKeysDeps extends ImportReferencesDeps, MigrationsDeps {
  readonly apis: Pick<ApisRepository, "find">;
  readonly keys: Pick<KeysRepository, "insertMany" | "findPresent" | "findTakenHashes">;
  readonly rootKeys: Pick<RootKeysRepository, "findTakenHashes">;
}

/** An item of the request, and the id of the key that it becomes. */
interface NumberedKey {
  readonly item: MigrateKey;
  readonly keyId: string;
}

interface Import {
  readonly api: ApiDocument;
  readonly pendingMigrationId: string | undefined;
  readonly references: ImportReferences;
}

const importedKey = ({ item, keyId }: NumberedKey, { api, pendingMigrationId, references }: Import, call: Call): KeyDocument => {
  const distinct = <T extends { readonly _id: string }>(objects: readonly T[]): T[] => [
    ...new Map(objects.map((each) => [each._id, each])).values(),
  ];
  const connections = {
    api,
    identityId: item.externalId === undefined ? undefined : references.identityId(item.externalId),
    permissions: distinct(item.permissions.map(references.permission)),
    roles: distinct(item.roles.map(references.role)),
  };
  const events = keyCreated(auditSource(call), "Imported", resource("key", keyId, item.name), connections);
  return {
    ...storeKey(keyId, item, connections, call.receivedAt, events),
    hash: item.hash,
    ...(pendingMigrationId === undefined ? {} : { pendingMigrationId }),
    start: "",
  };
};

/** Stores what can be stored of one chunk, and returns its ids; a hash that was taken meanwhile is left out. */
const insertChunk = async ({ keys }: MigrateKeysDeps, documents: readonly KeyDocument[], call: Call): Promise<ReadonlySet<string>> => {
  const stored = new Set<string>();
  // In one order for all callers, so that those who import the same hashes do not wait for each other in a circle.
  let rest = [...documents].sort(({ hash: a = "" }, { hash: b = "" }) => (a < b ? -1 : 1));
  for (let attempt = 1; rest.length > 0; attempt++) {
    try {
      await keys.insertMany(rest, call);
      for (const { _id } of rest) stored.add(_id);
      return stored;
    } catch (error) {
      if (!(error instanceof DuplicateKeyError) || attempt === INSERT_ATTEMPTS) throw error;
    }
    // Lost a race. Those before the duplicate are in, or an earlier run of this call stored them: their ids tell.
    const ids = await keys.findPresent(
      rest.map(({ _id }) => _id),
      call,
    );
    for (const id of ids) stored.add(id);
    const taken = await keys.findTakenHashes(
      rest.map(({ hash = "" }) => hash),
      call,
    );
    rest = rest.filter(({ _id, hash = "" }) => !ids.has(_id) && !taken.has(hash));
  }
  return stored;
};

/** Imports hashes of keys that another system issued (keys §7). A hash that a key or root key already has goes to `failed`. */
export const migrateKeys =
  (deps: MigrateKeysDeps): Procedure<typeof MigrateKeysRequestSchema, typeof MigrateKeysResponseSchema> =>
  async ({ apiId, migrationId, keys: items }, call) => {
    requirePermissions(call.caller, ["api.create_key", apiId]);
    const api = await findApi(deps.apis, apiId, call);
    const migration = await findMigration(deps, migrationId, call);

    return changeSeveral(call, async () => {
      const owners = new Map<string, string>();
      const fresh: NumberedKey[] = [];
      let count = 0;
      for (const chunk of chunks(items, CHUNK)) {
        // Tens of thousands of ids in one turn of the event loop would hold up all other calls.
        await nextTurn();
        const hashes = chunk.map(({ hash }) => hash);
        for (const [hash, keyId] of await deps.keys.findTakenHashes(hashes, call)) owners.set(hash, keyId);
        // One text is never both: whoever verifies keys could otherwise be handed a root key.
        for (const hash of await deps.rootKeys.findTakenHashes(hashes, call)) owners.set(hash, A_ROOT_KEY);
        for (const item of chunk) {
          const keyId = call.newId("key", `${count++}`);
          const owner = owners.get(item.hash);
          owners.set(item.hash, owner ?? keyId);
          // What an earlier run of this call imported is its own; of a repeated hash the first item is.
          if (owner === undefined || owner === keyId) fresh.push({ item, keyId });
        }
      }
      const references = await importReferences(
        deps,
        fresh.map(({ item }) => item),
        call,
      );
      const pendingMigrationId = migration.algorithm === "sha256" ? undefined : migrationId;

      const migrated: { readonly hash: string; readonly keyId: string }[] = [];
      for (const chunk of chunks(fresh, WRITTEN_AT_ONCE, ({ item }) => 4 + item.permissions.length + item.roles.length)) {
        await nextTurn();
        const documents = chunk.map((item) => importedKey(item, { api, pendingMigrationId, references }, call));
        const stored = await insertChunk(deps, documents, call);
        for (const { _id, hash = "" } of documents) if (stored.has(_id)) migrated.push({ hash, keyId: _id });
      }
      // Of a repeated hash the first item was imported, the others failed.
      const imported = new Set(migrated.map(({ hash }) => hash));
      const failed = items.map(({ hash }) => hash).filter((hash) => !imported.delete(hash));
      return { data: { migrated, failed } };
    });
  };
