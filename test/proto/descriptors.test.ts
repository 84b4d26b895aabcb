import { type DescField, type DescMessage, type DescMethod, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { field as fieldOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect, test } from "vitest";
import {
  changes,
  etag,
  if_match,
  no_store,
  permission,
  permission_from_request,
  problem_json,
  rate_limited_json,
  secret,
} from "../../gen/latchkey/v2/options_pb.ts";
import { methods, requests, services } from "../rpc/codec/services.ts";

/** `keys.createKey`, as /v2 calls a method. */
const nameOf = (method: DescMethod): string => {
  const namespace = method.parent.name.replace(/Service$/, "");
  return `${namespace.charAt(0).toLowerCase()}${namespace.slice(1)}.${method.localName}`;
};

const procedures: Readonly<Record<string, readonly string[]>> = {
  analytics: ["getVerifications", "getRatelimits", "getUsage", "tail", "getQuota"],
  apis: ["createApi", "getApi", "listApis", "updateApi", "deleteApi", "listKeys"],
  audit: ["getLogs", "verifyChain"],
  identities: ["createIdentity", "getIdentity", "listIdentities", "updateIdentity", "deleteIdentity"],
  keys: [
    ...["createKey", "updateKey", "getKey", "deleteKey", "rerollKey", "migrateKeys", "whoami", "updateCredits", "verifyKey"],
    ...["explain", "searchKeys"],
    ...["addPermissions", "removePermissions", "setPermissions", "addRoles", "removeRoles", "setRoles"],
  ],
  migrations: ["createMigration", "listMigrations", "deleteMigration"],
  nodes: ["listNodes"],
  permissions: [
    ...["createPermission", "getPermission", "listPermissions", "updatePermission", "deletePermission"],
    ...["createRole", "getRole", "listRoles", "updateRole", "deleteRole", "setRolePermissions"],
  ],
  ratelimit: [
    ...["limit", "multiLimit", "setOverride", "getOverride", "listOverrides", "deleteOverride"],
    ...["listNamespaces", "listCounters", "deleteNamespace"],
  ],
  rootKeys: ["createKey", "listKeys", "updateKey", "rerollKey", "deleteKey", "whoami"],
};

const marked = (is: (method: DescMethod) => boolean): string[] => methods.filter(is).map(nameOf).sort();

/** Every message a request can hold, and itself. */
const within = (desc: DescMessage): DescMessage[] => [
  desc,
  ...desc.fields.flatMap(({ message }) => (message === undefined || message.typeName.startsWith("google.") ? [] : within(message))),
];

const requestFields: readonly DescField[] = [...new Set(requests.flatMap(within))].flatMap(({ fields }) => fields);

describe("the descriptors", () => {
  test("list every procedure of the contract, and no other", () => {
    const want = Object.entries(procedures).flatMap(([namespace, names]) => names.map((name) => `${namespace}.${name}`));
    expect(methods.map(nameOf).sort()).toEqual(want.sort());
  });

  test("[grpc §1] every procedure is unary", () => {
    for (const method of methods) expect(method.methodKind).toBe("unary");
  });

  test("[permissions §14] every procedure names the permissions that it asks for", () => {
    expect(methods.filter((method) => getOption(method, permission).length === 0).map(nameOf)).toEqual([]);
  });

  test("[protocol §5] every response is the envelope: meta, data, and pagination where data is a page", () => {
    for (const { output } of methods) {
      expect(output.fields.map(({ name }) => name)).toEqual(expect.arrayContaining(["meta", "data"]));
      expect(output.fields.slice(0, 2).map(({ name, number }) => [name, number])).toEqual([
        ["meta", 1],
        ["data", 2],
      ]);
      expect(output.fields.slice(2).map(({ name, number }) => [name, number])).toEqual(
        /List(?!Nodes)|Search|GetLogs/.test(output.name) ? [["pagination", 3]] : [],
      );
    }
  });

  test("[protocol §4] every integer of a request is an int64 of at most 2^53-1", () => {
    for (const field of requestFields) {
      if (field.scalar === undefined || field.scalar === ScalarType.STRING || field.scalar === ScalarType.BOOL) continue;
      expect([String(field), field.scalar]).toEqual([String(field), ScalarType.INT64]);
      const { type } = getOption(field, fieldOption);
      const bound = type.case === "int64" && type.value.lessThan.case === "lte" ? type.value.lessThan.value : undefined;
      expect([String(field), bound !== undefined && bound <= 9007199254740991n]).toEqual([String(field), true]);
    }
  });

  test("a required field is never one whose absence could mean its zero value", () => {
    for (const field of requestFields) {
      const { required, type } = getOption(field, fieldOption);
      if (field.scalar !== ScalarType.INT64 || !required || field.presence !== FeatureSet_FieldPresence.IMPLICIT) continue;
      expect([String(field), type.case === "int64" && (type.value.greaterThan.value ?? 0n) >= 1n]).toEqual([String(field), true]);
    }
  });

  test("namespaces are the services without their suffix", () => {
    expect(services.map(({ typeName }) => typeName).every((name) => /^latchkey\.v2\.[A-Z][A-Za-z]+Service$/.test(name))).toBe(true);
  });
});

describe("the options of the procedures", () => {
  test("[management §2] etag marks the procedures that read one object, if_match those that update or delete it", () => {
    const byObject = (option: typeof etag): Record<string, string[]> => {
      const objects: Record<string, string[]> = {};
      for (const method of methods) {
        const object = getOption(method, option);
        if (object !== "") objects[object] = [...(objects[object] ?? []), nameOf(method)].sort();
      }
      return objects;
    };
    expect(byObject(etag)).toEqual({
      api: ["apis.getApi"],
      identity: ["identities.getIdentity"],
      key: ["keys.getKey"],
      override: ["ratelimit.getOverride"],
      permission: ["permissions.getPermission"],
      role: ["permissions.getRole"],
      "root key": ["rootKeys.whoami"],
    });
    expect(byObject(if_match)).toEqual({
      api: ["apis.deleteApi", "apis.updateApi"],
      identity: ["identities.deleteIdentity", "identities.updateIdentity"],
      key: [
        ...["keys.addPermissions", "keys.addRoles", "keys.deleteKey", "keys.removePermissions", "keys.removeRoles", "keys.rerollKey"],
        ...["keys.setPermissions", "keys.setRoles", "keys.updateCredits", "keys.updateKey"],
      ],
      override: ["ratelimit.deleteOverride", "ratelimit.setOverride"],
      permission: ["permissions.deletePermission", "permissions.updatePermission"],
      role: ["permissions.deleteRole", "permissions.setRolePermissions", "permissions.updateRole"],
      "root key": ["rootKeys.deleteKey", "rootKeys.rerollKey", "rootKeys.updateKey"],
    });
  });

  test("[protocol §11] changes marks exactly the procedures that write audit events and take an Idempotency-Key", () => {
    const reading: Readonly<Record<string, readonly string[]>> = {
      analytics: ["getQuota", "getRatelimits", "getUsage", "getVerifications", "tail"],
      apis: ["getApi", "listApis", "listKeys"],
      audit: ["getLogs", "verifyChain"],
      identities: ["getIdentity", "listIdentities"],
      keys: ["explain", "getKey", "searchKeys", "verifyKey", "whoami"],
      migrations: ["listMigrations"],
      nodes: ["listNodes"],
      permissions: ["getPermission", "getRole", "listPermissions", "listRoles"],
      ratelimit: ["getOverride", "limit", "listCounters", "listNamespaces", "listOverrides", "multiLimit"],
      rootKeys: ["listKeys", "whoami"],
    };
    const silent = Object.entries(reading).flatMap(([namespace, names]) => names.map((name) => `${namespace}.${name}`));
    expect(marked((method) => !getOption(method, changes))).toEqual(silent);
  });

  test("[protocol §2] permission_from_request marks what is judged before any lookup", () => {
    const found = marked((method) => getOption(method, permission_from_request));
    const namespaces = ["analytics", "audit", "identities", "migrations", "nodes", "permissions"];
    const wholly = Object.entries(procedures).flatMap(([namespace, names]) =>
      namespaces.includes(namespace) ? names.map((name) => `${namespace}.${name}`) : [],
    );
    const apis = ["apis.createApi", "apis.getApi", "apis.updateApi", "apis.deleteApi", "apis.listKeys"];
    const single = [...apis, "keys.createKey", "keys.migrateKeys"];
    const rootKeys = ["rootKeys.createKey", "rootKeys.updateKey", "rootKeys.rerollKey", "rootKeys.deleteKey"];
    expect(found).toEqual([...wholly, ...single, ...rootKeys].sort());
  });

  test("secret marks every field of a request that takes the secret of a key", () => {
    const taking = requestFields.filter(({ name, scalar }) => name === "key" && scalar === ScalarType.STRING);
    expect(taking.length).toBeGreaterThan(2);
    expect(taking.filter((field) => !getOption(field, secret)).map(String)).toEqual([]);
    expect(requestFields.filter((field) => getOption(field, secret) && !taking.includes(field)).map(String)).toEqual([]);
  });

  test("[protocol §1] no_store marks every response that may hold a secret", () => {
    const holders = ["apis.listKeys", "keys.createKey", "keys.getKey", "keys.rerollKey", "rootKeys.createKey", "rootKeys.rerollKey"];
    expect(marked((method) => getOption(method, no_store))).toEqual(holders);
  });

  test("[protocol §2, data §4] answers that are kept for an Idempotency-Key with a secret are marked no_store, and name no person", () => {
    const kept = methods.filter((method) => getOption(method, changes));
    const fieldsOf = ({ output }: DescMethod) => within(output).flatMap(({ fields }) => fields);
    const holdsSecret = (method: DescMethod) => fieldsOf(method).some((field) => getOption(field, secret));
    expect(kept.filter(holdsSecret)).toEqual(kept.filter((method) => getOption(method, no_store)));
    // They are encrypted, so the erasure of a person would not find them.
    const encrypted = kept.filter(holdsSecret).flatMap(fieldsOf);
    expect(encrypted.filter(({ name }) => ["external_id", "identity"].includes(name)).map(String)).toEqual([]);
  });

  test("[protocol §1] the two exceptions of media types", () => {
    expect(marked((method) => getOption(method, problem_json))).toEqual(["identities.deleteIdentity"]);
    expect(marked((method) => getOption(method, rate_limited_json))).toEqual(["permissions.updatePermission", "permissions.updateRole"]);
  });

  test("[permissions §14] a permission is a triple, or says what is needed in words", () => {
    for (const method of methods.filter((candidate) => hasOption(candidate, permission))) {
      for (const line of getOption(method, permission)) {
        expect(line).toMatch(
          /^(api|audit|ratelimit|rbac|identity|node|root_key|migration)\.(\*|\{[a-z_.]+\})\.[a-z_]+(\b|$)|^every permission|^none: /,
        );
      }
    }
  });
});
