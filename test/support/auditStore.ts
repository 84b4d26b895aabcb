import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { withStoreOf } from "../../bench/harness/placed.ts";
import { chainHash, GENESIS } from "../../src/features/audit/chainHash.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";

/** Settings of an embedded store whose log has so many entries; gone after the test. */
export const storeWithLog = async (count: number): Promise<Record<string, string>> => {
  const env = { DATA_DIR: await mkdtemp(join(tmpdir(), "latchkey-audit-")) };
  onTestFinished(() => rm(env.DATA_DIR, { recursive: true, force: true }));
  let previousHash = GENESIS;
  const entries = Array.from({ length: count }, (_, i): AuditLogDocument => {
    const event: AuditEvent = {
      ...{ id: `evt_${i}`, event: "api.create", time: i, actor: { type: "system", id: "test" }, display: "Created" },
      ...{ resources: [], correlationId: `req_${i}` },
    };
    const hash = chainHash(previousHash, i + 1, event);
    const entry: AuditLogDocument = { _id: event.id, v: 1, workspaceId: WORKSPACE_ID, sequence: i + 1, event, hash, previousHash };
    previousHash = hash;
    return entry;
  });
  await withStoreOf(env, (store) => store.collection("audit").insertMany(entries));
  return env;
};
