import type {
  CreateKeyCredits,
  MigrateKey,
  MigrateKeysRequestSchema,
  MigrateKeysResponseSchema,
} from "../../../gen/latchkey/v2/keys_pb.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";
import { createId } from "../../domain/ids.ts";
import { newDocument } from "../../storage/audited.ts";
import type { ApiDocument, KeyDocument, PermissionDocument, RoleDocument } from "../../storage/documents.ts";
import { DuplicateKeyError } from "../../storage/errors.ts";
import type { MigrationsRepository } from "../../storage/migrations.ts";
import { slugKey } from "../../storage/permissions.ts";
import { findApi } from "../apis/findApi.ts";
import { auditSource } from "../auditSource.ts";
import type { Call, Procedure } from "../call.ts";
import { createMissingPermissions, resolvePermissions } from "../permissions/resolvePermissions.ts";
import type { CreateKeyDeps } from "./createKey.ts";
import { linkIdentity, permissionEvents, roleEvents, storeCredits, storeMeta, storeRatelimits } from "./keyConfiguration.ts";

/** Keys of one store write: large enough to be fast, small enough to end well within an operation's time. */
const CHUNK = 500;

export interface MigrateKeysDeps extends CreateKeyDeps {
  readonly migrations: MigrationsRepository;
}

const chunks = <T>(items: readonly T[]): (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, i) => items.slice(i * CHUNK, (i + 1) * CHUNK));

/** What the keys of one call refer to, each object found or made once. */
interface References {
  readonly permission: (item: string) => PermissionDocument;
  readonly role: (name: string) => RoleDocument;
  readonly identityId: (externalId: string) => string;
}

const known = <T>(objects: ReadonlyMap<string, T>, key: string): T => {
  const object = objects.get(key);
  if (object === undefined) throw new Error(`a reference of an imported key was not resolved: ${key}`);
  return object;
};

/** Unknown permissions, identities and, unlike elsewhere, roles are made (keys §7). */
const resolveReferences = async (deps: MigrateKeysDeps, keys: readonly MigrateKey[], call: Call): Promise<References> => {
  const items = keys.flatMap((key) => key.permissions);
  const permissions = new Map<string, PermissionDocument>();
  for (const each of await createMissingPermissions(deps.permissions, await resolvePermissions(deps.permissions, items, call), call)) {
    permissions.set(each._id, each);
    permissions.set(slugKey(each.slug), each);
  }
  const now = call.receivedAt;
  const roles = new Map<string, RoleDocument>();
  for (const name of new Set(keys.flatMap((key) => key.roles))) {
    const id = createId("role", now);
    const event = auditEvent(auditSource(call), "role.create", `Created role ${name}`, resource("role", id, name));
    roles.set(name, await deps.roles.findOrCreate({ id, name, permissionIds: [] }, now, [event], call));
  }
  const identities = new Map<string, string>();
  for (const externalIds of chunks([...new Set(keys.flatMap((key) => key.externalId ?? []))])) {
    await Promise.all(
      externalIds.map(async (externalId) => {
        identities.set(externalId, (await linkIdentity(deps.identities, externalId, call))._id);
      }),
    );
  }
  return {
    permission: (item) => permissions.get(item) ?? known(permissions, slugKey(item)),
    role: (name) => known(roles, name),
    identityId: (externalId) => known(identities, externalId),
  };
};

/** An item of the request, and the id of the key that it becomes. */
interface NumberedKey {
  readonly item: MigrateKey;
  readonly keyId: string;
}

interface Import {
  readonly api: ApiDocument;
  readonly pendingMigrationId: string | undefined;
  readonly references: References;
}

const importedKey = ({ item, keyId }: NumberedKey, { api, pendingMigrationId, references }: Import, call: Call): KeyDocument => {
  const now = call.receivedAt;
  const source = auditSource(call);
  const key = resource("key", keyId, item.name);
  const distinct = <T extends { readonly _id: string }>(objects: readonly T[]): T[] => [
    ...new Map(objects.map((each) => [each._id, each])).values(),
  ];
  const permissions = distinct(item.permissions.map(references.permission));
  const roles = distinct(item.roles.map(references.role));
  const credits: CreateKeyCredits | undefined = item.credits;
  const events = [
    auditEvent(source, "key.create", `Imported key ${keyId}`, key, resource("api", api._id, api.name)),
    ...permissionEvents(source, "connect", key, permissions),
    ...roleEvents(source, "connect", key, roles),
  ];
  return {
    ...newDocument(keyId, now, events),
    apiId: api._id,
    hash: item.hash,
    ...(pendingMigrationId === undefined ? {} : { pendingMigrationId }),
    start: "",
    ...(item.name === undefined ? {} : { name: item.name }),
    ...(item.meta === undefined ? {} : { meta: storeMeta(item.meta) }),
    ...(item.expires === undefined ? {} : { expires: Number(item.expires) }),
    ...(item.externalId === undefined ? {} : { identityId: references.identityId(item.externalId) }),
    ...storeCredits(credits, now),
    enabled: item.enabled ?? true,
    permissionIds: permissions.map((permission) => permission._id),
    roleIds: roles.map((role) => role._id),
    ratelimits: storeRatelimits(item.ratelimits, [], now),
    revision: 0,
  };
};

/** Stores what can be stored of one chunk, and returns it; a hash that was taken meanwhile is left out. */
const insertChunk = async ({ keys }: MigrateKeysDeps, documents: readonly KeyDocument[], call: Call): Promise<readonly KeyDocument[]> => {
  try {
    await keys.insertMany(documents, call);
    return documents;
  } catch (error) {
    if (!(error instanceof DuplicateKeyError)) throw error;
  }
  // Lost a race: those before the duplicate are in, and are told from strangers by their ids.
  const stored: KeyDocument[] = [];
  for (const document of documents) {
    try {
      if ((await keys.find(document._id, call)) === null) await keys.insert(document, call);
      stored.push(document);
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
    }
  }
  return stored;
};

/** Imports hashes of keys that another system issued (keys §7). A hash that a key already has goes to `failed`. */
export const migrateKeys =
  (deps: MigrateKeysDeps): Procedure<typeof MigrateKeysRequestSchema, typeof MigrateKeysResponseSchema> =>
  async ({ apiId, migrationId, keys: items }, call) => {
    requirePermissions(call.caller, ["api.create_key", apiId]);
    const api = await findApi(deps.apis, apiId, call);
    const migration = await deps.migrations.find(migrationId, call);
    if (migration === null) throw new ServiceError("migration_not_found", `The migration ${migrationId} does not exist.`);

    await call.begin();
    const owners = new Map<string, string>();
    for (const hashes of chunks(items.map(({ hash }) => hash))) {
      for (const [hash, keyId] of await deps.keys.findTakenHashes(hashes, call)) owners.set(hash, keyId);
    }
    // What an earlier run of this call imported is its own; of a repeated hash the first item is.
    const fresh = items
      .map((item, i) => ({ item, keyId: call.newId("key", `${i}`) }))
      .filter(({ item: { hash }, keyId }) => {
        const owner = owners.get(hash);
        owners.set(hash, owner ?? keyId);
        return owner === undefined || owner === keyId;
      });
    const references = await resolveReferences(
      deps,
      fresh.map(({ item }) => item),
      call,
    );
    const pendingMigrationId = migration.algorithm === "sha256" ? undefined : migrationId;

    const migrated: { readonly hash: string; readonly keyId: string }[] = [];
    for (const chunk of chunks(fresh)) {
      const documents = chunk.map((item) => importedKey(item, { api, pendingMigrationId, references }, call));
      for (const { _id, hash = "" } of await insertChunk(deps, documents, call)) migrated.push({ hash, keyId: _id });
    }
    // Of a repeated hash the first item was imported, the others failed.
    const imported = new Set(migrated.map(({ hash }) => hash));
    const failed = items.map(({ hash }) => hash).filter((hash) => !imported.delete(hash));
    return { data: { migrated, failed } };
  };
