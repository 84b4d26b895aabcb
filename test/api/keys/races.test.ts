import { describe, expect, test } from "vitest";
import type { Api } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy } from "../../support/written.ts";

const CALLERS = 12;

everywhere((run) => {
  /** `CALLERS` calls at once, every second one on the other node. */
  const together = async <T>(call: (caller: number, node: Api) => Promise<T>): Promise<T[]> => {
    const nodes = [run.api, await run.other()] as const;
    return Promise.all(Array.from({ length: CALLERS }, (_, i) => call(i, nodes[i % 2] as Api)));
  };
  const auditor = async (): Promise<readonly [name: string, rootKey: string]> => {
    const name = run.unique("racer");
    return [name, await run.api.createRootKey({ name })];
  };

  describe("createKey", () => {
    test("[keys §1.7] many calls with one new externalId all succeed and end with one identity", async () => {
      const [name, rootKey] = await auditor();
      const externalId = run.unique("user");
      const apiId = await run.createApi();
      const keys = await together((_, node) => run.data("keys.createKey", { apiId, externalId }, rootKey, node));
      const identities = await Promise.all(keys.map(async ({ keyId }) => (await run.getKey(keyId as string)).identity));
      expect(new Set(identities.map((identity) => JSON.stringify(identity))).size).toBe(1);
      expect(identities[0]).toEqual({ id: expect.any(String), externalId });
      const stored = await run.api.store.collection("identities").find({ externalId }).toArray();
      expect(stored).toHaveLength(1);
      const events = await eventsBy(run.api.store, name);
      expect(events.filter(({ event }) => event === "identity.create")).toHaveLength(1);
      expect(events.filter(({ event }) => event === "key.create")).toHaveLength(CALLERS);
    });

    test("[permissions §1] many calls with the same new slugs, in any letter case, share one permission each, with one event", async () => {
      const [name, rootKey] = await auditor();
      const apiId = await run.createApi();
      const slugs = Array.from({ length: 5 }, () => run.unique("race.read"));
      const keys = await together((i, node) => {
        const permissions = i % 3 ? slugs : slugs.map((slug) => slug.toUpperCase()).reverse();
        return run.data("keys.createKey", { apiId, permissions }, rootKey, node);
      });
      const held = await Promise.all(keys.map(async ({ keyId }) => (await run.getKey(keyId as string)).permissions));
      expect(new Set(held.map((list) => JSON.stringify(list))).size).toBe(1);
      expect(held[0]).toHaveLength(5);
      const stored = await run.api.store
        .collection("permissions")
        .find({ slugKey: { $in: slugs } })
        .toArray();
      expect(stored).toHaveLength(5);
      const events = await eventsBy(run.api.store, name);
      expect(events.filter(({ event }) => event === "permission.create")).toHaveLength(5);
    });
  });

  describe("updateKey", () => {
    test("[keys §3] concurrent updates end in one caller's complete set, none fails, each has its event", async () => {
      const [name, rootKey] = await auditor();
      const { keyId, key } = await run.createKey();
      const roles = await Promise.all(
        Array.from({ length: CALLERS }, async () => {
          const role = run.unique("role");
          await run.data("permissions.createRole", { name: role });
          return role;
        }),
      );
      const sets = roles.map((role, i) => ({
        name: `caller ${i}`,
        externalId: `${role}.user`,
        meta: { caller: i },
        expires: 4_000_000_000_000 + i,
        credits: i % 2 ? { remaining: 100 + i } : { remaining: 100 + i, refill: { interval: "daily", amount: 1 + i } },
        ratelimits: [
          { name: "shared", limit: 1 + i, duration: 1000 },
          { name: `own ${i}`, limit: 1, duration: 1000 },
        ],
        roles: [role],
        permissions: [`${role}.read`, `${role}.write`],
      }));
      await together((i, node) => run.data("keys.updateKey", { keyId, ...sets[i] }, rootKey, node));
      const shown = await run.getKey(keyId);
      const winner = sets.find((set) => set.name === shown.name);
      const { externalId, ratelimits, credits, ...rest } = winner ?? expect.unreachable("no caller's name");
      // A refill that another caller set stays where the winner, who came later, only set a balance.
      expect(shown).toMatchObject({ ...rest, credits: { remaining: credits.remaining }, identity: { externalId } });
      expect((shown.ratelimits as { name: string }[]).map((item) => item.name).sort()).toEqual(ratelimits.map((item) => item.name).sort());
      expect(shown.ratelimits).toEqual(expect.arrayContaining(ratelimits.map((item) => expect.objectContaining(item))));
      expect(await run.verify(key, { credits: { cost: 0 } })).toMatchObject({ name: shown.name, roles: shown.roles, meta: shown.meta });
      const events = await eventsBy(run.api.store, name);
      expect(events.filter(({ event }) => event === "key.update")).toHaveLength(CALLERS);
    });

    test("[keys §3] concurrent updates of different fields all survive", async () => {
      const { keyId } = await run.createKey();
      const parts: readonly object[] = [
        { name: "set" },
        { meta: { set: true } },
        { expires: 4_000_000_000_000 },
        { credits: { remaining: 5 } },
        { ratelimits: [{ name: "requests", limit: 1, duration: 1000, autoApply: false }] },
        { permissions: ["race.field"] },
      ];
      await together((i, node) => run.data("keys.updateKey", { keyId, ...parts[i % parts.length] }, undefined, node));
      const { ratelimits, ...others } = Object.assign({}, ...parts) as { ratelimits: object[] };
      const shown = await run.getKey(keyId);
      expect(shown).toMatchObject({ ...others });
      expect(shown.ratelimits).toEqual([expect.objectContaining(ratelimits[0])]);
    });

    test("[keys §3] a rate limit added by many at once has one id", async () => {
      const { keyId } = await run.createKey();
      const ratelimits = [{ name: "requests", limit: 1, duration: 1000 }];
      await together((_, node) => run.data("keys.updateKey", { keyId, ratelimits }, undefined, node));
      const first = (await run.getKey(keyId)).ratelimits;
      await run.data("keys.updateKey", { keyId, ratelimits });
      expect((await run.getKey(keyId)).ratelimits).toEqual(first);
    });

    test("[verify §11] concurrent changes of configuration lose no deduction of verifications", async () => {
      const { keyId, key } = await run.createKey({ credits: { remaining: CALLERS, refill: { interval: "daily", amount: 1 } } });
      const other = await run.other();
      const changes = [{ name: "changed" }, { meta: { changed: true } }, { credits: { refill: null } }, { credits: {} }, { enabled: true }];
      const [verified] = await Promise.all([
        together((_, node) => run.data("keys.verifyKey", { key }, undefined, node)),
        ...changes.map((change, i) => run.data("keys.updateKey", { keyId, ...change }, undefined, i % 2 ? other : run.api)),
      ]);
      expect(verified.map(({ code }) => code)).toEqual(Array(CALLERS).fill("VALID"));
      expect(await run.getKey(keyId)).toMatchObject({ name: "changed", meta: { changed: true }, credits: { remaining: 0 } });
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
    });

    test("[verify §11] a balance set during verifications is spent from, not overwritten", async () => {
      const { keyId, key } = await run.createKey({ credits: { remaining: 1000 } });
      const [verified] = await Promise.all([
        together((_, node) => run.data("keys.verifyKey", { key }, undefined, node)),
        run.data("keys.updateKey", { keyId, credits: { remaining: 50 } }),
      ]);
      expect(verified.map(({ code }) => code)).toEqual(Array(CALLERS).fill("VALID"));
      const after = verified.filter(({ credits }) => (credits as number) < 50).length;
      expect(await run.getKey(keyId)).toMatchObject({ credits: { remaining: 50 - after } });
    });
  });

  describe("deleteKey", () => {
    test("[keys §5] racing deletes, permanent or not: one is 200 and the others 404, with one event", async () => {
      const [name, rootKey] = await auditor();
      const { keyId, key } = await run.createKey();
      const answers = await together((i, node) => run.call("keys.deleteKey", { keyId, permanent: i % 3 === 0 }, rootKey, node));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(CALLERS - 1).fill(404)]);
      expect(await run.verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
      expect(await eventsBy(run.api.store, name)).toHaveLength(1);
    });

    test("[keys §5] an update that races a deletion is 200 or 404 and revives nothing", async () => {
      const { keyId, key } = await run.createKey({ name: "before", meta: { secret: 1 } });
      const answers = await together((i, node) =>
        i === CALLERS / 2
          ? run.call("keys.deleteKey", { keyId, permanent: true }, undefined, node)
          : run.call("keys.updateKey", { keyId, name: `update ${i}`, meta: { i }, externalId: "race" }, undefined, node),
      );
      expect(answers[CALLERS / 2]?.status).toBe(200);
      for (const { status } of answers) expect([200, 404]).toContain(status);
      expect(await run.verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
      const left = await run.api.store.collection("keys").findOne({ _id: keyId });
      for (const field of ["name", "meta", "hash", "identityId"]) expect(left ?? {}).not.toHaveProperty(field);
    });
  });

  test("[protocol §7] another node verifies by a change soon after it", async () => {
    const other = await run.other();
    const { keyId, key } = await run.createKey({ name: "before" });
    const there = (): Promise<Record<string, unknown>> => run.data("keys.verifyKey", { key }, undefined, other);
    expect(await there()).toMatchObject({ name: "before" });
    await run.data("keys.updateKey", { keyId, name: "after", externalId: run.unique("user") });
    await expect.poll(async () => (await there()).name, { timeout: 30_000 }).toBe("after");
    await run.data("keys.deleteKey", { keyId });
    await expect.poll(async () => (await there()).code, { timeout: 30_000 }).toBe("NOT_FOUND");
  });
});
