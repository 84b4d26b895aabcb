// @same-on-every-engine
import { expect, test } from "vitest";
import { eventsRun } from "./eventsRun.ts";

// Those of analytics need its engine: events.process.test.ts.
eventsRun(
  (procedure) => !procedure.startsWith("analytics."),
  {},
  ({ call, createAll, eventsOfCall }) => {
    test("all events of one call share its correlation id, other calls have others", async () => {
      const { apiId, role } = await createAll();
      const permissions = [`new.${crypto.randomUUID()}`, `new.${crypto.randomUUID()}`];
      const body = { apiId, externalId: crypto.randomUUID(), roles: [role], permissions };
      const events = await eventsOfCall("keys.createKey", body);
      expect(events.map(({ event }) => event).sort()).toEqual([
        "authorization.connect_permission_and_key",
        "authorization.connect_permission_and_key",
        "authorization.connect_role_and_key",
        "identity.create",
        "key.create",
        "permission.create",
        "permission.create",
      ]);
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(1);
      const next = await eventsOfCall("keys.createKey", { apiId });
      expect(next[0]?.correlationId).not.toBe(events[0]?.correlationId);
    });

    test("a namespace that a check creates has its event, later checks have none", async () => {
      const check = { namespace: crypto.randomUUID(), identifier: "x", limit: 1, duration: 1_000 };
      expect((await eventsOfCall("ratelimit.limit", check)).map(({ event }) => event)).toEqual(["ratelimitNamespace.create"]);
      expect(await eventsOfCall("ratelimit.limit", check)).toEqual([]);
    });

    test("an updateKey with only a keyId writes its event, and touches updatedAt", async () => {
      const { keyId } = await createAll();
      expect((await eventsOfCall("keys.updateKey", { keyId })).map(({ event }) => event)).toEqual(["key.update"]);
      expect(await call("keys.getKey", { keyId })).toHaveProperty("updatedAt");
    });
  },
);
