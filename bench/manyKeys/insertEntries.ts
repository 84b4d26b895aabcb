import { auditEvent, resource, systemSource } from "../../src/features/audit/auditEvent.ts";
import { AUDIT_FORMAT, chainHash, GENESIS, newSalt } from "../../src/features/audit/chainHash.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import type { InsertMany } from "../insertIntoFile.ts";
import type { Population } from "../population.ts";

const BATCH = 1_000;

/** Fills the empty audit log of a store with so many entries, each of the creation of a key, a millisecond apart. */
export const insertEntries = async (insert: InsertMany, { keyIds, since }: Population, count: number): Promise<void> => {
  let previousHash = GENESIS;
  for (let sequence = 0; sequence < count; ) {
    const entries: AuditLogDocument[] = [];
    for (const until = Math.min(count, sequence + BATCH); sequence < until; ) {
      const keyId = keyIds[sequence % keyIds.length] ?? "";
      const event = auditEvent(
        { ...systemSource(systemClock), now: since + sequence },
        "key.create",
        "Created key",
        resource("key", keyId),
      );
      const salt = newSalt();
      sequence++;
      const hash = chainHash(previousHash, sequence, event, AUDIT_FORMAT, { salt });
      const base = { _id: event.id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID };
      entries.push({ ...base, event, format: AUDIT_FORMAT, salt, previousHash, hash, sequence });
      previousHash = hash;
    }
    await insert("audit", entries);
  }
};
