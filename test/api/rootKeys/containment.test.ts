// @same-on-every-engine
import { describe, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { systemSource } from "../../../src/features/audit/auditEvent.ts";
import { updateRootKey } from "../../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../../../src/features/rootKeys/rootKeysRepository.ts";
import { allPermissions } from "../../../src/platform/authorization/authorization.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { rootKeyCalls } from "../../support/rootKeys.ts";

const FORBIDDEN = "unkey/authorization/insufficient_permissions";
const NOT_FOUND = "unkey/data/key_not_found";
const HOUR = 3_600_000;

everywhere(
  (run) => {
    const { create, reroll, list } = rootKeyCalls(run);
    const holding = (...permissions: string[]): Promise<string> => run.api.createRootKey({ permissions });
    const manages = ["root_key.*.create_root_key", "root_key.*.update_root_key", "root_key.*.delete_root_key", "root_key.*.read_root_key"];
    const expectForbidden = (answer: Answer, ...named: readonly string[]): void => {
      const { detail } = expectError(answer, 403, FORBIDDEN);
      for (const text of named) expect(detail).toContain(text);
    };
    const everyChange = (keyId: string): readonly (readonly [string, object])[] => [
      ["rootKeys.updateKey", { keyId, name: "x" }],
      ["rootKeys.rerollKey", { keyId, expiration: null }],
      ["rootKeys.deleteKey", { keyId }],
    ];

    describe("[rootkeys §1] the permissions that a caller needs", () => {
      test("each procedure needs its own action, for `*` or this id; no action implies another", async () => {
        const { keyId } = await create();
        const needs = {
          "rootKeys.createKey": ["create", { permissions: ["root_key.*.read_root_key"] }],
          "rootKeys.updateKey": ["update", { keyId, name: "x" }],
          "rootKeys.deleteKey": ["delete", { keyId }],
        } as const;
        for (const [procedure, [action, body]] of Object.entries(needs)) {
          const others = manages.filter((permission) => !permission.includes(`.${action}_`));
          expectForbidden(await run.call(procedure, body, await holding(...others)), `root_key.*.${action}_root_key`);
        }
        const foreign = await holding("root_key.rk_other.update_root_key", "root_key.rk_other.delete_root_key");
        for (const [procedure, body] of everyChange(keyId)) expectForbidden(await run.call(procedure, body, foreign), `root_key.${keyId}.`);
        const own = await holding(`root_key.${keyId}.update_root_key`, `root_key.${keyId}.delete_root_key`, "api.*.read_api");
        for (const [procedure, body] of everyChange(keyId)) await run.data(procedure, body, own);
      });

      test("rerollKey needs update_root_key, and delete_root_key too unless the expiration is null", async () => {
        const { keyId } = await create();
        const updates = await holding("root_key.*.update_root_key", "api.*.read_api");
        await run.data("rootKeys.rerollKey", { keyId, expiration: null }, updates);
        for (const expiration of [0, HOUR]) {
          expectForbidden(await run.call("rootKeys.rerollKey", { keyId, expiration }, updates), "delete_root_key");
        }
        const deletes = await holding("root_key.*.delete_root_key", "api.*.read_api");
        expectForbidden(await run.call("rootKeys.rerollKey", { keyId, expiration: 0 }, deletes), "update_root_key");
      });

      test("[rootkeys §3] 403 comes before the lookup, containment after it", async () => {
        const powerless = await holding("api.*.read_api");
        for (const [procedure, body] of everyChange("rk_unknown")) expectForbidden(await run.call(procedure, body, powerless));
        const weak = await holding(...manages);
        const given = { keyId: "rk_unknown", permissions: ["api.*.create_api"] };
        expectError(await run.call("rootKeys.updateKey", given, weak), 404, NOT_FOUND);
      });
    });

    describe("[rootkeys §1] no one can hand out more than they hold", () => {
      test("createKey refuses each permission that the caller lacks and names them; the same triple or its `*` form will do", async () => {
        const maker = await holding(...manages, "api.*.read_api", "api.api_1.create_key");
        await create(
          { permissions: ["api.*.read_api", "api.api_2.read_api", "api.api_1.create_key", "root_key.*.create_root_key"] },
          maker,
        );
        const before = await list();
        const refused = ["api.*.create_key", "api.api_2.create_key", "api.api_1.read_key", "rbac.*.read_role"];
        const body = { permissions: [...refused, "api.*.read_api"] };
        const answer = await run.call("rootKeys.createKey", body, maker);
        expectForbidden(answer, ...refused);
        expect(answer.body.error?.detail).not.toContain("api.*.read_api");
        expect(await list()).toHaveLength(before.length);
      });

      test("a list of every permission is not the same as holding everything, but hands out all of the list", async () => {
        const listed = await holding(...allPermissions);
        const { key } = await create({ permissions: allPermissions }, listed);
        await create({ permissions: allPermissions }, key);
      });

      test("updateKey refuses what the caller lacks, also what the root key holds already, and changes nothing", async () => {
        const { keyId, key } = await create({ permissions: ["api.*.create_api"] });
        const weak = await holding(...manages, "api.*.read_api");
        expectForbidden(await run.call("rootKeys.updateKey", { keyId, permissions: ["api.*.create_api"] }, weak), "api.*.create_api");
        expectForbidden(
          await run.call("rootKeys.updateKey", { keyId, name: "x", permissions: ["api.*.read_api", "rbac.*.read_role"] }, weak),
          "rbac.*.read_role",
        );
        await run.data("apis.createApi", { name: "still allowed" }, key);
        await run.data("rootKeys.updateKey", { keyId, permissions: ["api.*.read_api"] }, weak);
        expectForbidden(await run.call("apis.createApi", { name: "no longer" }, key), "api.*.create_api");
      });

      test("a caller cannot give itself more", async () => {
        const { keyId, key } = await create();
        const own = [`root_key.${keyId}.update_root_key`, "api.*.read_api"];
        await run.data("rootKeys.updateKey", { keyId, permissions: own });
        expectForbidden(
          await run.call("rootKeys.updateKey", { keyId, permissions: [...own, "api.*.create_api"] }, key),
          "api.*.create_api",
        );
        expectForbidden(
          await run.call("rootKeys.updateKey", { keyId, permissions: ["root_key.*.update_root_key"] }, key),
          "root_key.*.update_root_key",
        );
      });

      test("rerollKey needs every permission of the old one", async () => {
        const { keyId } = await create({ permissions: ["api.*.create_api", "api.api_1.read_api"] });
        const weak = await holding(...manages, "api.*.read_api");
        expectForbidden(await run.call("rootKeys.rerollKey", { keyId, expiration: null }, weak), "api.*.create_api");
        const strong = await holding(...manages, "api.*.read_api", "api.*.create_api");
        const { key } = await reroll(keyId, 0, strong);
        await run.data("apis.createApi", { name: "copied" }, key);
      });

      test("one made without a list is copied only by a caller without one, and the copy holds everything, too", async () => {
        const everything = await run.api.createRootKey({ name: run.unique("everything") });
        const [found] = (await list()).filter(({ start, end }) => everything.startsWith(start) && everything.endsWith(end));
        const body = { keyId: found?.keyId, expiration: null };
        expectForbidden(await run.call("rootKeys.rerollKey", body, await holding(...allPermissions)));
        const { key } = await reroll(found?.keyId ?? "", null);
        const again = await create({ permissions: allPermissions }, key);
        expectForbidden(await run.call("rootKeys.rerollKey", body, again.key));
      });

      test("an expiring caller may only create, change and reroll keys that expire no later, and is told so", async () => {
        const expires = Date.now() + HOUR;
        const caller = await run.api.createRootKey({ expires });
        for (const later of [expires + 1, null, undefined]) {
          const fields = { permissions: ["api.*.read_api"], ...(later === undefined ? {} : { expires: later }) };
          expectForbidden(await run.call("rootKeys.createKey", fields, caller), "expire");
        }
        const { keyId } = await create({ expires }, caller);
        await run.data("rootKeys.updateKey", { keyId, name: "shared fate" }, caller);
        await run.data("rootKeys.rerollKey", { keyId, expiration: null }, caller);
        const endless = await create();
        const outliving = await create({ expires: expires + 1 });
        for (const { keyId: other } of [endless, outliving]) {
          for (const [procedure, body] of everyChange(other).slice(0, 2))
            expectForbidden(await run.call(procedure, body, caller), "expire");
          await run.data("rootKeys.deleteKey", { keyId: other }, caller);
        }
      });
    });

    describe("[protocol §2] a repeat with an Idempotency-Key", () => {
      const withKey = (key: string, procedure: string, body: object, rootKey: string): Promise<Answer> =>
        run.api.edges.find(({ name }) => name === run.edge)?.call(procedure, body, rootKey, { headers: { "idempotency-key": key } }) ??
        expect.unreachable();

      test("[rootkeys §1] hands a root key out again only to a caller that still holds all of it", async () => {
        const caller = await create({ permissions: [...manages, "api.*.read_api", "rbac.*.read_role"] });
        const old = await create({ permissions: ["rbac.*.read_role"] });
        const requests = [
          ["rootKeys.createKey", { permissions: ["rbac.*.read_role"] }],
          ["rootKeys.updateKey", { keyId: old.keyId, permissions: ["rbac.*.read_role"] }],
          ["rootKeys.rerollKey", { keyId: old.keyId, expiration: null }],
        ] as const;
        const keys = requests.map(() => run.unique("key"));
        const all = (): Promise<Answer[]> =>
          Promise.all(requests.map(([procedure, body], i) => withKey(keys[i] ?? "", procedure, body, caller.key)));
        const first = (await all()).map(dataOf);
        expect((await all()).map(dataOf)).toEqual(first);
        await run.data("rootKeys.updateKey", { keyId: caller.keyId, permissions: [...manages, "api.*.read_api"] });
        for (const answer of await all()) expectForbidden(answer, "rbac.*.read_role");
        await run.data("rootKeys.updateKey", { keyId: caller.keyId, permissions: [...manages, "rbac.*.read_role"] });
        expect((await all()).map(dataOf)).toEqual(first);
      });

      test("[rootkeys §1] nor to one that has come to expire earlier, or holds a list by now", async () => {
        const rootKeys = createRootKeysRepository(run.api.store);
        const everything = await run.api.createRootKey({ name: run.unique("caller") });
        const copied = await run.api.createRootKey({ name: run.unique("copied") });
        const idOf = async (key: string): Promise<string> =>
          (await rootKeys.list()).find(({ start, end }) => key.startsWith(start) && key.endsWith(end))?._id ?? expect.unreachable();
        const [callerId, copiedId] = [await idOf(everything), await idOf(copied)];
        const [create1, reroll1] = [run.unique("key"), run.unique("key")];
        const all = (): Promise<Answer[]> =>
          Promise.all([
            withKey(create1, "rootKeys.createKey", { permissions: ["api.*.read_api"] }, everything),
            withKey(reroll1, "rootKeys.rerollKey", { keyId: copiedId, expiration: null }, everything),
          ]);
        const first = (await all()).map(dataOf);
        // The change is made through the service, so that its cache of the caller is invalidated; only the command line sets an expiry.
        await updateRootKey(rootKeys, callerId, { expires: Date.now() + HOUR }, systemSource(systemClock));
        await run.data("rootKeys.updateKey", { keyId: callerId, enabled: true });
        for (const answer of await all()) expectForbidden(answer, "expire");
        await updateRootKey(rootKeys, callerId, { expires: null }, systemSource(systemClock));
        await run.data("rootKeys.updateKey", { keyId: callerId, permissions: allPermissions });
        const [made, rerolled] = await all();
        expect(dataOf(made ?? expect.unreachable())).toEqual(first[0]);
        expectForbidden(rerolled ?? expect.unreachable(), "every permission");
      });
    });
  },
  ["v2", "grpc"],
);
