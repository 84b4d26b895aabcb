import { describe, expect, test } from "vitest";
import { AnalyticsService, UsageKind } from "../../gen/latchkey/v2/analytics_pb.ts";
import { ApisService } from "../../gen/latchkey/v2/apis_pb.ts";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { RatelimitService } from "../../gen/latchkey/v2/ratelimit_pb.ts";
import { RootKeysService } from "../../gen/latchkey/v2/root_keys_pb.ts";
import { missingPermissions } from "../../ui/src/data/access/permissions.ts";
import { unseenOf } from "../../ui/src/data/access/unseen.ts";

const { createApi, listKeys, listApis } = ApisService.method;
const { createKey, updateKey, addRoles } = KeysService.method;

describe("[console §4] greyed buttons derive from the descriptors", () => {
  test.each([
    ["held for all", createApi, {}, ["api.*.create_api"], []],
    ["not held", createApi, {}, [], ["api.*.create_api"]],
    ["held for the object", createKey, { api_id: "api_1" }, ["api.api_1.create_key"], []],
    ["held for another object", createKey, { api_id: "api_1" }, ["api.api_2.create_key"], ["api.api_1.create_key"]],
    ["an object that is not known yet", createKey, {}, ["api.api_2.create_key"], []],
    ["the id of the object that was found", updateKey, { api_id: "api_1" }, ["api.api_1.update_key"], []],
    ["two, one of which is missing", listKeys, { api_id: "api_1" }, ["api.*.read_key"], ["api.api_1.read_api"]],
    ["two of several types", addRoles, { api_id: "api_1" }, ["api.*.update_key"], ["rbac.*.add_role_to_key"]],
    ["what the request decides is left to the service", createKey, { api_id: "api_1" }, ["api.*.create_key"], []],
    ["lists show what may be read", listApis, {}, [], []],
  ] as const)("%s", (_, method, ids, held, missing) => {
    expect(missingPermissions(method, ids, held)).toEqual(missing);
  });
});

describe("[console §3] a list that a session may not see is not shown as empty", () => {
  const { searchKeys, getKey } = KeysService.method;
  const { getUsage, getVerifications } = AnalyticsService.method;
  const { listNamespaces } = RatelimitService.method;
  const verifications = { request: { kind: UsageKind.VERIFICATIONS } };

  test.each([
    ["everything is seen", listApis, ["api.*.read_api"], {}, [], false],
    ["nothing is seen", listNamespaces, ["api.*.read_api"], {}, ["ratelimit.*.read_namespace"], true],
    ["some are seen", listApis, ["api.api_1.read_api"], {}, ["api.*.read_api"], false],
    ["one of two permissions shows nothing", searchKeys, ["api.*.read_key"], {}, ["api.*.read_api"], true],
    ["root keys", RootKeysService.method.listKeys, [], {}, ["root_key.*.read_root_key"], true],
    ["the object that is asked about is seen", getVerifications, ["api.api_1.read_analytics"], { ids: { api_id: "api_1" } }, [], false],
    [
      "another object is asked about",
      getVerifications,
      ["api.api_1.read_analytics"],
      { ids: { api_id: "api_2" } },
      ["api.api_2.read_analytics"],
      true,
    ],
    ["a permission for another kind of question", getUsage, ["api.*.read_analytics"], verifications, [], false],
    ["the permission of this kind", getUsage, ["ratelimit.*.read_analytics"], verifications, ["api.*.read_analytics"], true],
    ["a refused call says so itself", getKey, [], {}, [], false],
  ] as const)("%s", (_, method, held, options, permissions, all) => {
    expect(unseenOf(method, held, options)).toEqual({ permissions, all });
  });
});
