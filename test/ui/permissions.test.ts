import { describe, expect, test } from "vitest";
import { ApisService } from "../../gen/latchkey/v2/apis_pb.ts";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { missingPermissions } from "../../ui/src/data/access/permissions.ts";

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
