import { systemSource } from "../src/audit/auditEvent.ts";
import { chunks } from "../src/domain/chunks.ts";
import { systemClock } from "../src/domain/clock.ts";
import { createId } from "../src/domain/ids.ts";
import { hashKey } from "../src/domain/keySecret.ts";
import { createRootKey } from "../src/rootKeys/rootKeys.ts";
import { createApisRepository } from "../src/storage/apis.ts";
import { type KeyDocument, SCHEMA_VERSION, WORKSPACE_ID } from "../src/storage/documents.ts";
import { createIdentitiesRepository } from "../src/storage/identities.ts";
import { createPermissionsRepository } from "../src/storage/permissions.ts";
import { createRolesRepository } from "../src/storage/roles.ts";
import { createRootKeysRepository } from "../src/storage/rootKeys.ts";
import type { Store } from "../src/storage/store.ts";

/** The secret of the key with this number. */
export const keyOf = (i: number, prefix = "bench"): string => `${prefix}_${String(i).padStart(24, "0")}`;

/** Identities that have keys. */
const HOLDERS = 1_000;
/** Documents of one write: well within the time that a store gives one. */
const BATCH = 1_000;

export interface Population {
  readonly rootKey: string;
  readonly apiId: string;
  /** Every key holds all of these. */
  readonly roleIds: readonly string[];
  readonly permissionIds: readonly string[];
  /** Each of the first 1000 has keys/1000 keys. */
  readonly identityIds: readonly string[];
  /** Ascending. */
  readonly keyIds: readonly string[];
  /** Of the last key. */
  readonly key: string;
}

export interface PopulationOptions {
  readonly keys: number;
  /** Roles and permissions that every key holds. */
  readonly roles: number;
  readonly permissions: number;
  /** 1000 of them have keys. */
  readonly identities?: number;
  /** Of the keys' secrets. */
  readonly prefix?: string;
  /** Credits of every key; unlimited when left out. */
  readonly remaining?: number;
}

/**
 * Fills a prepared, empty store with one API of so many keys by bulk inserts, beside any service: each key with a name,
 * metadata, an identity, a rate limit, and the same roles and permissions as all others.
 */
export const populate = async (
  store: Store,
  { keys, roles, permissions, identities = HOLDERS, prefix = "bench", remaining }: PopulationOptions,
): Promise<Population> => {
  const now = systemClock.now();
  const { key: rootKey } = await createRootKey(createRootKeysRepository(store), { name: "bench" }, systemSource(systemClock));
  const apiId = createId("api", now);
  await createApisRepository(store).insert({ id: apiId, name: "bench" }, now, []);
  const ids = (prefix: "id" | "perm" | "role", count: number): string[] => Array.from({ length: count }, () => createId(prefix, now));
  const [identityIds, permissionIds, roleIds] = [ids("id", Math.max(HOLDERS, identities)), ids("perm", permissions), ids("role", roles)];
  const identitiesRepository = createIdentitiesRepository(store);
  for (const batch of chunks([...identityIds.entries()], BATCH)) {
    await identitiesRepository.insertMany(
      batch.map(([i, id]) => ({ identity: { id, externalId: `${prefix}_user_${i}`, meta: '{"plan":"pro"}' }, events: [] })),
      now,
    );
  }
  const permissionsRepository = createPermissionsRepository(store);
  for (const [i, id] of permissionIds.entries())
    await permissionsRepository.insert({ id, name: `p${i}`, slug: `${prefix}.p${i}` }, now, []);
  const rolesRepository = createRolesRepository(store);
  for (const [i, id] of roleIds.entries()) {
    await rolesRepository.insert({ id, name: `${prefix}_r${i}`, permissionIds: permissionIds.slice(0, 5) }, now, []);
  }

  const keyIds: string[] = [];
  let lastKey = "";
  for (let from = 0; from < keys; from += BATCH) {
    const batch: KeyDocument[] = [];
    for (let i = from; i < Math.min(keys, from + BATCH); i++) {
      lastKey = keyOf(i, prefix);
      const createdAt = now - keys + i;
      const id = createId("key", createdAt);
      keyIds.push(id);
      batch.push({
        _id: id,
        v: SCHEMA_VERSION,
        workspaceId: WORKSPACE_ID,
        createdAt,
        apiId,
        hash: hashKey(lastKey),
        start: lastKey.slice(0, 10),
        prefix,
        byteLength: 16,
        lastFour: lastKey.slice(-4),
        name: `key ${i}`,
        nameKey: `key ${i}`,
        meta: '{"customer":"acme","region":"eu"}',
        identityId: identityIds[i % HOLDERS] ?? "",
        enabled: true,
        permissionIds,
        roleIds,
        ratelimits: [{ id: createId("rl", now), name: "requests", limit: 1_000_000_000, duration: 60_000, autoApply: true }],
        revision: 0,
        ...(remaining === undefined ? {} : { remaining }),
      });
    }
    await store.collection("keys").insertMany(batch);
  }
  return { rootKey: rootKey.reveal(), apiId, roleIds, permissionIds, identityIds, keyIds: keyIds.sort(), key: lastKey };
};
