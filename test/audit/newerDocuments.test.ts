import { afterAll, expect, test } from "vitest";
import { auditEvent, resource } from "../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../src/features/audit/auditMover.ts";
import { verifyAudit } from "../../src/features/audit/verifyAudit.ts";
import { SCHEMA_VERSION } from "../../src/platform/storage/port/baseDocument.ts";
import { DocumentTooNewError } from "../../src/platform/storage/port/errors.ts";
import { createLeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

afterAll(() => Promise.all(engines.map((engine) => engine.close())));

test.each(engines)("on $name, a node moves the events of objects that a newer version wrote, and of all others", async (engine) => {
  const clock = createTestClock();
  const store = await engine.open();
  const source = { actor: { type: "system", id: "system" }, correlationId: "cor_1", now: clock.now() } as const;
  const made = (id: string) => newDocument(id, clock.now(), [auditEvent(source, "api.create", "Created", resource("api", id))]);
  await store.collection("apis").insertOne({ ...made("api_1"), v: SCHEMA_VERSION + 1, name: "newer" });
  await store.collection("apis").insertOne({ ...made("api_2"), name: "known" });
  const auditLog = createAuditLogRepository(store);
  await createAuditMover({ clock, auditLog, leases: createLeasesRepository(store) }).run();
  expect(await verifyAudit(auditLog)).toMatchObject({ entries: 2, pending: 0, faults: [] });
  await expect(store.collection("apis").findOne({ _id: "api_1" })).rejects.toThrow(DocumentTooNewError);
});
