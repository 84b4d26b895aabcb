import { auditEvent, resource, systemSource } from "../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { chainHash, GENESIS } from "../../src/features/audit/chainHash.ts";
import { permissionSearch, slugKey } from "../../src/features/permissions/permissionsRepository.ts";
import { nameKey, roleSearch } from "../../src/features/permissions/rolesRepository.ts";
import { createNamespacesRepository } from "../../src/features/ratelimit/namespacesRepository.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createId } from "../../src/platform/base/ids.ts";
import { hashKey } from "../../src/platform/secrets/keySecret.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { AuditLogDocument, CollectionName, Documents } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { chunks } from "../../src/platform/util/chunks.ts";
import { type Population, populate } from "../population.ts";

/** Documents of one write: well within the time that a store gives one. */
const BATCH = 1_000;

/** Between two entries of the audit log, ms: twelve days of a hundred thousand. */
const ENTRY_EVERY = 10_000;

/** What the pages of the console list. */
export interface ConsolePopulation extends Population {
  readonly namespace: string;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Fills a prepared, empty store with so many of everything that a page of the console lists by the page. */
export const populateForConsole = async (store: Store, count: number): Promise<ConsolePopulation> => {
  const population = await populate(store, { keys: count, identities: count, roles: 1, permissions: 2 });
  const now = systemClock.now();
  const base = (prefix: Parameters<typeof createId>[0]) => {
    const id = createId(prefix, now);
    return { id, document: { _id: id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, createdAt: now, revision: 0 } };
  };
  const fill = async <C extends CollectionName>(collection: C, make: (i: number) => Documents[C]): Promise<void> => {
    for (const batch of chunks(numbers(count), BATCH)) await store.collection(collection).insertMany(batch.map(make));
  };
  await fill("permissions", (i) => {
    const { id, document } = base("perm");
    const fields = { name: `Permission ${i}`, slug: `of.${i}` };
    return { ...document, ...fields, slugKey: slugKey(fields.slug), search: permissionSearch({ id, ...fields }) };
  });
  await fill("roles", (i) => {
    const { id, document } = base("role");
    const fields = { name: `role ${i}`, permissionIds: population.permissionIds };
    return { ...document, ...fields, nameKey: nameKey(fields.name), search: roleSearch({ id, ...fields }) };
  });
  await fill("rootKeys", (i) => {
    const hash = hashKey(`root_${i}`);
    const permissions = ["api.*.read_api", "api.*.verify_key"];
    return {
      ...base("key").document,
      hash,
      start: "root",
      end: String(i).padStart(4, "0"),
      name: `root key ${i}`,
      permissions,
      enabled: true,
    };
  });
  const namespaceId = createId("rlns", now);
  await createNamespacesRepository(store).findOrCreate({ id: namespaceId, name: "emails" }, now, []);
  await fill("overrides", (i) => ({ ...base("rlor").document, namespaceId, identifier: `user_${i}`, limit: 10, duration: 60_000 }));

  const auditLog = createAuditLogRepository(store);
  let previousHash = GENESIS;
  for (const batch of chunks(numbers(count), BATCH)) {
    const entries = batch.map((i): AuditLogDocument => {
      const source = { ...systemSource(systemClock), now: now - (count - i) * ENTRY_EVERY };
      const event = auditEvent(source, "key.update", `Updated key ${i}`, resource("key", `key_${i}`));
      const hash = chainHash(previousHash, i + 1, event);
      const entry = { _id: event.id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, sequence: i + 1, event, previousHash, hash };
      previousHash = hash;
      return entry;
    });
    await auditLog.append(entries);
  }
  return { ...population, namespace: namespaceId };
};
