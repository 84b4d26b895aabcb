import { afterAll, expect, test } from "vitest";
import { auditEvent, resource } from "../../src/audit/auditEvent.ts";
import { createAuditMover } from "../../src/audit/auditMover.ts";
import { SCHEMA_VERSION } from "../../src/storage/port/baseDocument.ts";
import { DocumentTooNewError } from "../../src/storage/port/errors.ts";
import { createAuditLogRepository } from "../../src/storage/repositories/auditLogRepository.ts";
import { createLeasesRepository } from "../../src/storage/repositories/leasesRepository.ts";
import { newDocument } from "../../src/storage/repositories/shared/audited.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

afterAll(() => Promise.all(engines.map((engine) => engine.close())));

test.each(engines)(
  "[design §3] on $name, a node that cannot read what a newer version wrote leaves its events to those that can",
  async (engine) => {
    const clock = createTestClock();
    const store = await engine.open();
    const source = { actor: { type: "system", id: "system" }, correlationId: "cor_1", now: clock.now() } as const;
    const made = newDocument("api_1", clock.now(), [auditEvent(source, "api.create", "Created", resource("api", "api_1"))]);
    await store.collection("apis").insertOne({ ...made, v: SCHEMA_VERSION + 1, name: "newer" });
    const leases = createLeasesRepository(store);
    const mover = createAuditMover({ clock, auditLog: createAuditLogRepository(store), leases });
    await expect(mover.run()).rejects.toThrow(DocumentTooNewError);
    expect(await leases.acquire("audit", "another node", clock.now(), 10_000)).toBe(true);
    expect(await store.collection("apis").findFields([], { pendingMark: { $exists: true } })).toEqual([{ _id: "api_1" }]);
  },
);
