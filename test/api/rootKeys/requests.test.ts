// @same-on-every-engine
import { expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { expectInvalid, rootKeyCalls } from "../../support/rootKeys.ts";

const permissions = ["api.*.read_api"];

const malformed: readonly (readonly [procedure: string, body: object, location: string])[] = [
  ["createKey", {}, "body.permissions"],
  ["createKey", { permissions: null }, "body.permissions"],
  ["createKey", { permissions: "api.*.read_api" }, "body.permissions"],
  ["createKey", { permissions: [1] }, "body.permissions[0]"],
  ["createKey", { permissions: [""] }, "body.permissions[0]"],
  ["createKey", { permissions, name: null }, "body.name"],
  ["createKey", { permissions, name: 1 }, "body.name"],
  ["createKey", { permissions, expires: "never" }, "body.expires"],
  ["createKey", { permissions, expires: 4_000_000_000_000.5 }, "body.expires"],
  ["createKey", { permissions, expires: -1 }, "body.expires"],
  ["createKey", { permissions, enabled: true }, "body.enabled"],
  ["listKeys", { limit: 1.5 }, "body.limit"],
  ["listKeys", { limit: "1" }, "body.limit"],
  ["listKeys", { limit: null }, "body.limit"],
  ["listKeys", { cursor: null }, "body.cursor"],
  ["listKeys", { search: "x" }, "body.search"],
  ["updateKey", { name: "x" }, "body.keyId"],
  ["updateKey", { keyId: null }, "body.keyId"],
  ["updateKey", { keyId: "rk_1\n" }, "body.keyId"],
  ["updateKey", { keyId: "rk_1", enabled: null }, "body.enabled"],
  ["updateKey", { keyId: "rk_1", enabled: "yes" }, "body.enabled"],
  ["updateKey", { keyId: "rk_1", permissions: null }, "body.permissions"],
  ["updateKey", { keyId: "rk_1", expires: "never" }, "body.expires"],
  ["updateKey", { keyId: "rk_1", expires: -1 }, "body.expires"],
  ["updateKey", { keyId: "rk_1", expires: 1 }, "body.expires"],
  ["updateKey", { keyId: "rk_1", expires: 4_102_444_800_001 }, "body.expires"],
  ["whoami", { keyId: "rk_1" }, "body.keyId"],
  ["rerollKey", { expiration: 0 }, "body.keyId"],
  ["rerollKey", { keyId: "rk_1", expiration: "0" }, "body.expiration"],
  ["rerollKey", { keyId: "rk_1", expiration: 0.5 }, "body.expiration"],
  ["rerollKey", { keyId: "rk_1", expiration: 0, name: "x" }, "body.name"],
  ["deleteKey", {}, "body.keyId"],
  ["deleteKey", { keyId: "rk_1", permanent: true }, "body.permanent"],
];

everywhere(
  (run) => {
    const { create, list, shown } = rootKeyCalls(run);

    test.each(malformed)(
      "[rootkeys §2] %s: a malformed request (row %$) is 400, also without permissions, and changes nothing",
      async (name, body, location) => {
        const before = await list();
        for (const rootKey of [run.api.rootKey, await run.api.createRootKey({ permissions })]) {
          expectInvalid(await run.call(`rootKeys.${name}`, body, rootKey), location);
        }
        // Those of the test itself come and go.
        const ids = new Set(before.map(({ keyId }) => keyId));
        expect((await list()).filter(({ keyId }) => ids.has(keyId)).map(({ keyId, name: n }) => [keyId, n])).toEqual(
          before.map(({ keyId, name: n }) => [keyId, n]),
        );
      },
    );

    test("[rootkeys §2] several violations of one body are reported together", async () => {
      const body = { permissions: [], name: "", expires: -1, extra: 1 };
      const { errors = [] } = expectError(await run.call("rootKeys.createKey", body), 400, "unkey/application/invalid_input");
      expect(errors.map(({ location }) => location).sort()).toEqual(["body.expires", "body.extra", "body.name", "body.permissions"]);
    });

    test("[management §5] an unknown permission and a past expiry are reported with all other violations", async () => {
      const wrong = ["api.*.read_api", "nonsense", 1, "", "api.x.create_api"];
      for (const [procedure, fields] of [
        ["createKey", {}],
        ["updateKey", { keyId: "rk-1" }],
      ] as const) {
        const body = { ...fields, permissions: wrong, name: "", expires: 1, extra: 1 };
        const { errors = [] } = expectError(await run.call(`rootKeys.${procedure}`, body), 400, "unkey/application/invalid_input");
        const permissionsAt = [1, 2, 3, 4].map((i) => `body.permissions[${i}]`);
        expect(errors.map(({ location }) => location).sort()).toEqual(
          ["body.expires", "body.extra", ...("keyId" in fields ? ["body.keyId"] : []), "body.name", ...permissionsAt].sort(),
        );
      }
      const many = { permissions: Array.from({ length: 1_001 }, () => "nonsense"), expires: 1 };
      const { errors = [] } = expectError(await run.call("rootKeys.createKey", many), 400, "unkey/application/invalid_input");
      expect([errors.length, errors.slice(0, 2).map(({ location }) => location)]).toEqual([
        1_000,
        ["body.permissions", "body.permissions[0]"],
      ]);
    });

    test("[protocol §10] an empty cursor is the first page, any other a position or 400, never 5xx", async () => {
      const { keyId } = await create();
      const first = await run.call("rootKeys.listKeys", { cursor: "", limit: 1 });
      expect(first.body.data).toHaveLength(1);
      for (const cursor of ["nothing", "rk_zzzz", "\u0000", "😀", "x".repeat(1_000)]) {
        expect((await run.call("rootKeys.listKeys", { cursor })).status).toBeLessThan(500);
      }
      expect((await shown(keyId)).keyId).toBe(keyId);
    });
  },
  ["v2"],
);
