import { afterAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { createAuditLogRepository } from "../../../src/features/audit/auditLogRepository.ts";
import { verifyAudit } from "../../../src/features/audit/verifyAudit.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { erasePerson, fillPerson, remainsOf } from "../../support/erasures.ts";
import { sized } from "../../support/sized.ts";
import { engines } from "../../support/stores.ts";

describe.each(engines)("[data §4] an erasure on $name", (engine) => {
  afterAll(() => engine.close());

  test("that dies at any operation leaves a whole log, and is ended by the next call", { timeout: 600_000 }, async () => {
    const store = await engine.open();
    const step = sized(5, 1);
    let deaths = 0;
    for (let at = 0, reached = true; reached; at += step) {
      reached = false;
      await fillPerson(store);
      let operations = 0;
      const dying = interceptStore(store, async (operation) => {
        if (operations++ < at) return operation();
        reached = true;
        throw new StoreUnavailableError("died");
      });
      const answer = await erasePerson(dying).catch(() => undefined);
      expect((await verifyAudit(createAuditLogRepository(store))).faults).toEqual([]);
      if (answer === undefined) {
        deaths++;
        // Unless it died once all was done.
        if ((await remainsOf(store)).length > 0) expect(await erasePerson(store)).toMatchObject({ done: true, keys: expect.anything() });
      }
      expect(await remainsOf(store)).toEqual([]);
      expect((await verifyAudit(createAuditLogRepository(store))).faults).toEqual([]);
    }
    expect(deaths).toBeGreaterThan(5);
    const stripped = await store.collection("keys").find({}).toArray();
    for (const key of stripped) for (const field of ["name", "nameKey", "meta", "identityId"]) expect(key).not.toHaveProperty(field);
  });
});
