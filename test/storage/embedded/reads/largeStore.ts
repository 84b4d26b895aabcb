import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { BLOCK, rowsOfBlock } from "../../../../src/features/audit/auditIndexRepository.ts";
import { counterKey } from "../../../../src/features/ratelimit/counterKey.ts";
import { type CounterEntry, putCounters } from "../../../../src/platform/storage/embedded/counters/counterTable.ts";
import { columnsOf, columnValues } from "../../../../src/platform/storage/embedded/sqlite/columns.ts";
import { toText } from "../../../../src/platform/storage/embedded/sqlite/documentText.ts";
import type { AuditEvent } from "../../../../src/platform/storage/port/auditEvents.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../../../src/platform/storage/port/baseDocument.ts";
import type { AuditIndexDocument, AuditLogDocument, CollectionName, Documents } from "../../../../src/platform/storage/port/documents.ts";
import { newDocument } from "../../../../src/platform/storage/repositories/shared/audited.ts";

/** Rows of each list: many times what one turn may look at. Deleted rows come before live ones. */
export const MANY = { keys: 120_000, others: 24_000, large: 48, blocks: 2_000 } as const;
/** Half a megabyte. */
const LARGE_META: string = JSON.stringify({ text: "x".repeat(512 * 1024) });

export const idOf = (prefix: string, i: number): string => `${prefix}_${String(i).padStart(8, "0")}`;
const isDeleted = (i: number, of: number): boolean => i < of * 0.75;
const base = { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID } as const;

const event = (id: string): AuditEvent => ({
  id,
  event: "key.create",
  time: 1,
  actor: { type: "system", id: "system" },
  correlationId: "cor_1",
  display: "x".repeat(200),
  resources: [],
});

/** A block of the log whose terms nearly all occur once. */
export const blockOfEntries = (block: number): AuditLogDocument[] =>
  Array.from({ length: BLOCK }, (_, i) => {
    const id = idOf(`logged${block}`, i);
    return {
      ...{ ...base, _id: id, sequence: block * BLOCK + i + 1, hash: "h", previousHash: "p" },
      event: { ...event(id), correlationId: id, resources: [{ type: "key", id }] },
    };
  });

/** One term that all blocks have, and others that are in one entry of one block only. */
function* auditIndexRows(): Generator<AuditIndexDocument> {
  for (let i = 0; i < MANY.blocks; i++) yield* rowsOfBlock(i, blockOfEntries(i).slice(0, i % 100 === 0 ? BLOCK : 1));
}

const apiOf = (i: number): string => (i < MANY.keys * 0.1 ? "api_small" : i < MANY.keys * 0.2 ? "api_waiting" : "api_big");

function* times<T>(count: number, make: (i: number) => T): Generator<T> {
  for (let i = 0; i < count; i++) yield make(i);
}

/** Deleted for good, but its row still there: it waits for its sweep. */
const gone = (i: number) => (isDeleted(i, MANY.others) ? { deletedAt: 1, erased: true, sweepFrom: 1 } : {});

const rows: { readonly [N in CollectionName]?: () => Iterable<Documents[N]> } = {
  apis: () => times(MANY.others, (i) => ({ ...newDocument(idOf("api", i), 1, []), name: "api", ...gone(i) })),
  // Those of two small APIs come first; all those of the second have events that are to be moved.
  keys: () =>
    times(MANY.keys, (i) => ({
      ...newDocument(idOf("key", i), 1, apiOf(i) === "api_waiting" ? [event(idOf("log", i))] : []),
      apiId: apiOf(i),
      identityId: "id_big",
      hash: idOf("hash", i),
      importedHash: idOf("imported", i),
      start: "start",
      name: "name",
      nameKey: "name",
      lastFour: "last",
      enabled: true,
      permissionIds: [],
      roleIds: [],
      ratelimits: [],
      revision: 0,
      ...(isDeleted(i, MANY.keys) ? { deletedAt: 1 } : {}),
    })),
  identities: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("id", i), 1, []),
      externalId: idOf("external", i),
      ...(isDeleted(i, MANY.others) ? {} : { externalKey: idOf("external", i) }),
      search: `${idOf("id", i)}X${idOf("external", i)}`,
      ratelimits: [],
      revision: 0,
      ...(i >= MANY.others - MANY.large ? { meta: LARGE_META } : {}),
      ...gone(i),
    })),
  permissions: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("perm", i), 1, []),
      name: "name",
      slug: idOf("slug", i),
      slugKey: idOf("slug", i),
      search: `${idOf("perm", i)}X${idOf("slug", i)}`,
      revision: 0,
      ...gone(i),
    })),
  roles: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("role", i), 1, []),
      name: idOf("name", i),
      nameKey: idOf("name", i),
      search: `${idOf("role", i)}X${idOf("name", i)}`,
      permissionIds: [],
      revision: 0,
      ...gone(i),
    })),
  rootKeys: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("rk", i), 1, []),
      hash: idOf("hash", i),
      start: "s",
      end: "e",
      enabled: true,
      ...(isDeleted(i, MANY.others) ? { deletedAt: 1 } : {}),
    })),
  namespaces: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("rlns", i), 1, []),
      name: idOf("name", i),
      ...(isDeleted(i, MANY.others) ? { deletedAt: 1 } : {}),
    })),
  overrides: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("rlor", i), 1, []),
      namespaceId: "rlns_big",
      identifier: idOf("identifier", i),
      limit: 1,
      duration: 1_000,
      ...(isDeleted(i, MANY.others) ? { deletedAt: 1, erased: true } : {}),
    })),
  migrations: () => times(MANY.others, (i) => ({ ...newDocument(idOf("mig", i), 1, []), algorithm: "sha256" })),
  changes: () =>
    times(MANY.others, (i) => ({
      ...base,
      _id: idOf("ch", i),
      node: "node",
      ids: Array.from({ length: i % 400 === 0 ? 5_000 : 1 }, (_, j) => idOf("key", j)),
      expireAt: new Date(8_000_000_000_000),
    })),
  idempotency: () =>
    times(MANY.others, (i) => ({
      ...base,
      _id: idOf("idem", i),
      request: "r",
      salt: "s",
      now: 1,
      holder: "h",
      leaseUntil: 1,
      permissions: [],
      expireAt: new Date(8_000_000_000_000),
    })),
  audit: () =>
    times(MANY.others, (i) => ({
      ...base,
      _id: idOf("logged", i),
      sequence: i + 1,
      event: event(idOf("logged", i)),
      hash: "h",
      previousHash: "p",
    })),
  auditIndex: auditIndexRows,
  sessions: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("ses", i), 1, []),
      ...(isDeleted(i, MANY.others) ? { deletedAt: 1, erased: true } : { hash: idOf("hash", i) }),
      rootKeyId: "rk_big",
      opening: 0,
      lastUsedAt: 1,
      expiresAt: 8_000_000_000_000,
      expireAt: new Date(8_000_000_000_000),
    })),
  failedSignIns: () =>
    times(MANY.others, (i) => ({
      ...newDocument(idOf("address", i), 1, []),
      failures: [1],
      toldAt: 1,
      revision: 1,
      expireAt: new Date(8_000_000_000_000),
    })),
  leases: () => times(10, (i) => ({ ...base, _id: idOf("lease", i), holder: "h", expires: 1 })),
};

/** Every third is of a namespace, in windows of ten lengths. */
const counters = (): readonly CounterEntry[] =>
  Array.from({ length: MANY.others }, (_, i) => [
    i % 3 === 2 ? counterKey("rlns_big", 1_000 * (1 + (i % 10)), idOf("identifier", i)) : idOf("counter", i),
    { seq: 1, current: 0, previous: 0, expireAt: 8_000_000_000_000 },
  ]);

/** Fills the files of a prepared store directly: through the port it would take minutes. */
export const fillStore = (directory: string): void => {
  const database = new DatabaseSync(join(directory, "latchkey.sqlite"));
  database.exec("PRAGMA synchronous=OFF; BEGIN IMMEDIATE");
  for (const [name, make] of Object.entries(rows)) {
    const collection = name as CollectionName;
    const columns = columnsOf(collection);
    const names = ["id", "doc", ...columns.map((column) => `"${column}"`)];
    const insertion = database.prepare(`INSERT INTO "${name}" (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`);
    for (const document of make()) {
      const fields = document as unknown as Record<string, unknown>;
      insertion.run(document._id, toText(fields), ...columnValues(collection, fields));
    }
  }
  database.exec("COMMIT");
  database.close();
  const counterFile = new DatabaseSync(join(directory, "counters.sqlite"));
  counterFile.exec("PRAGMA synchronous=OFF; BEGIN IMMEDIATE");
  putCounters((sql) => counterFile.prepare(sql), counters());
  counterFile.exec("COMMIT");
  counterFile.close();
};
