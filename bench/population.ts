import { createApisRepository } from "../src/features/apis/apisRepository.ts";
import { systemSource } from "../src/features/audit/auditEvent.ts";
import { createIdentitiesRepository } from "../src/features/identities/identitiesRepository.ts";
import { createPermissionsRepository } from "../src/features/permissions/permissionsRepository.ts";
import { createRolesRepository } from "../src/features/permissions/rolesRepository.ts";
import { createRootKey } from "../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../src/features/rootKeys/rootKeysRepository.ts";
import { systemClock } from "../src/platform/base/clock.ts";
import { createId } from "../src/platform/base/ids.ts";
import { hashKey } from "../src/platform/secrets/keySecret.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../src/platform/storage/port/baseDocument.ts";
import type { KeyDocument } from "../src/platform/storage/port/documents.ts";
import type { Store } from "../src/platform/storage/port/store.ts";
import { chunks } from "../src/platform/util/chunks.ts";
import type { InsertMany } from "./insertIntoFile.ts";

/** The secret of the key with this number. */
export const keyOf = (i: number, prefix = "bench"): string => `${prefix}_${String(i).padStart(24, "0")}`;

/** Of the last four characters, which are not those of the secret: however many keys there are, one in so many has the same. */
const ENDINGS = 100;
/** Identities that have keys, unless told. */
const HOLDERS = 1_000;
/** Ids of so many keys are kept. */
const KEPT_OF = 100;
/** Keys are made one in each millisecond, the first so many ago. */
const MOST_KEYS = 10_000_000;
/** Documents of one write: well within the time that a store gives one. */
const BATCH = 1_000;

export interface Population {
  readonly rootKey: string;
  readonly apiId: string;
  /** Every key holds all of these. */
  readonly roleIds: readonly string[];
  readonly permissionIds: readonly string[];
  /** The first ones, as many as hold keys, each have the same number of them. */
  readonly identityIds: readonly string[];
  readonly holders: number;
  /** How many there are. */
  readonly keys: number;
  /** Of every hundredth key, ascending. */
  readonly keyIds: readonly string[];
  /** Of the last key. */
  readonly key: string;
  readonly prefix: string;
  readonly remaining: number | undefined;
  /** When the first key was made, Unix ms. */
  readonly since: number;
  /** What a key has in the place of what all others have; by its number. Without it all are alike. */
  readonly vary?: (number: number, key: KeyDocument) => KeyDocument;
}

export interface PopulationOptions {
  readonly keys: number;
  /** Roles and permissions that every key holds. */
  readonly roles: number;
  readonly permissions: number;
  readonly identities?: number;
  /** Identities that have keys, 1000 unless told. */
  readonly holders?: number;
  /** Of the keys' secrets. */
  readonly prefix?: string;
  /** Credits of every key; unlimited when left out. */
  readonly remaining?: number;
  readonly vary?: Population["vary"];
}

/**
 * Fills a prepared, empty store with one API of so many keys by bulk inserts, beside any service: each key with a name,
 * metadata, an identity, a rate limit, and the same roles and permissions as all others.
 */
export const populate = async (
  store: Store,
  { keys, roles, permissions, holders = HOLDERS, identities = holders, prefix = "bench", remaining, vary }: PopulationOptions,
): Promise<Population> => {
  const now = systemClock.now();
  const { key: rootKey } = await createRootKey(createRootKeysRepository(store), { name: "bench" }, systemSource(systemClock));
  const apiId = createId("api", now);
  await createApisRepository(store).insert({ id: apiId, name: "bench" }, now, []);
  const ids = (prefix: "id" | "perm" | "role", count: number): string[] => Array.from({ length: count }, () => createId(prefix, now));
  const [identityIds, permissionIds, roleIds] = [ids("id", Math.max(holders, identities)), ids("perm", permissions), ids("role", roles)];
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

  const since = now - MOST_KEYS;
  const ofKeys = { keys: 0, keyIds: [], key: "", prefix, remaining, since, ...(vary === undefined ? {} : { vary }) };
  const insert: InsertMany = async (collection, documents) => {
    await store.collection(collection).insertMany(documents);
  };
  return growPopulation(insert, { rootKey: rootKey.reveal(), apiId, roleIds, permissionIds, identityIds, holders, ...ofKeys }, keys);
};

/**
 * Adds keys until there are so many.
 * @param goesOn asked before every thousand; no more are added once it says no.
 */
export const growPopulation = async (
  insert: InsertMany,
  population: Population,
  to: number,
  goesOn: (keys: number) => boolean = () => true,
): Promise<Population> => {
  const { apiId, roleIds, permissionIds, identityIds, holders, prefix, remaining, since, vary = (_, key) => key } = population;
  const keyIds = [...population.keyIds];
  let { keys, key } = population;
  while (keys < to && goesOn(keys)) {
    const batch: KeyDocument[] = [];
    for (const until = Math.min(to, keys + BATCH); keys < until; keys++) {
      key = keyOf(keys, prefix);
      const createdAt = since + keys;
      const id = createId("key", createdAt);
      if (keys % KEPT_OF === 0) keyIds.push(id);
      const document: KeyDocument = {
        _id: id,
        v: SCHEMA_VERSION,
        workspaceId: WORKSPACE_ID,
        createdAt,
        apiId,
        hash: hashKey(key),
        start: key.slice(0, 10),
        prefix,
        byteLength: 16,
        lastFour: String(keys % ENDINGS).padStart(4, "0"),
        name: `key ${keys}`,
        nameKey: `key ${keys}`,
        meta: '{"customer":"acme","region":"eu"}',
        identityId: identityIds[keys % holders] ?? "",
        enabled: true,
        permissionIds,
        roleIds,
        ratelimits: [{ id: createId("rl", createdAt), name: "requests", limit: 1_000_000_000, duration: 60_000, autoApply: true }],
        revision: 0,
        ...(remaining === undefined ? {} : { remaining }),
      };
      batch.push(vary(keys, document));
    }
    await insert("keys", batch);
  }
  return { ...population, keys, keyIds, key };
};
