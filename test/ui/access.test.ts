import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { IdentitySchema, KeySchema, RoleSchema } from "../../gen/latchkey/v2/common_pb.ts";
import { RootKeySchema } from "../../gen/latchkey/v2/root_keys_pb.ts";
import { allPermissions } from "../../src/platform/authorization/authorization.ts";
import {
  confinedTo,
  holds,
  labelledTemplates,
  permissionTypes,
  scopedPermissions,
  toggled,
} from "../../ui/src/data/access/permissionChoice.ts";
import { identityPath } from "../../ui/src/data/identityPath.ts";
import { isUntouched, rebasedDraft } from "../../ui/src/design/forms/draftChanges.ts";
import { keep } from "../../ui/src/design/forms/fieldChange.ts";
import { holdingsOf, isAnswer, rolesGiving, searchText, slugsAsked } from "../../ui/src/pages/access/holders.ts";
import { grantsChanges, grantsRequest, permissionRequest, roleChanges, roleRequest } from "../../ui/src/pages/access/roleDraft.ts";
import * as identityDraft from "../../ui/src/pages/identityDetail/identityDraft.ts";
import * as rootKeyDraft from "../../ui/src/pages/rootKeyList/rootKeyDraft.ts";
import { stateOf, unshrinkable, usedOf } from "../../ui/src/pages/rootKeyList/rootKeyText.ts";

const template = (label: string) => labelledTemplates.find((one) => one.label === label) ?? expect.unreachable(label);

describe("[console §3] the permission matrix", () => {
  test("has every permission once", () => {
    const triples = permissionTypes.flatMap(({ type, actions }) => actions.map((action) => `${type}.*.${action}`));
    expect(triples.sort()).toEqual(allPermissions);
    expect(permissionTypes.slice(0, 2).map(({ type }) => type)).toEqual(["api", "ratelimit"]);
  });

  test("permissions that the person does not hold cannot be granted", () => {
    const held = ["api.api_1.read_key", "ratelimit.*.limit"];
    expect(holds(held, "api.api_1.read_key")).toBe(true);
    expect(holds(held, "api.*.read_key")).toBe(false);
    expect(holds(held, "ratelimit.ns_1.limit")).toBe(true);
    expect(holds(held, "nonsense")).toBe(false);
  });

  test("a choice for all objects takes the place of those for one", () => {
    const one = toggled(toggled([], "api.api_1.read_key"), "api.api_2.read_key");
    expect(confinedTo(one, "api")).toEqual(["api_1", "api_2"]);
    expect(toggled(one, "api.*.read_key")).toEqual(["api.*.read_key"]);
    expect(toggled(one, "api.api_1.read_key")).toEqual(["api.api_2.read_key"]);
    expect(toggled(["rbac.*.read_role"], "api.*.read_key")).toEqual(["api.*.read_key", "rbac.*.read_role"]);
  });

  test("templates: verifier, issuer, analyst, read-only, full access", () => {
    expect(labelledTemplates.map(({ label }) => label)).toEqual(["Verifier", "Issuer", "Analyst", "Read-only", "Full access"]);
    expect(scopedPermissions(template("Verifier"), {})).toEqual(["api.*.verify_key", "ratelimit.*.limit"]);
    expect(scopedPermissions(template("Full access"), {})).toEqual(allPermissions);
    expect(scopedPermissions(template("Read-only"), {}).every((triple) => /\.(read_|list_)/.test(triple))).toBe(true);
    for (const one of labelledTemplates) expect(scopedPermissions(one, {}).length).toBeGreaterThan(1);
  });

  test("a template that is confined leaves out what cannot be confined", () => {
    expect(scopedPermissions(template("Verifier"), { api: "api_1" })).toEqual(["api.api_1.verify_key", "ratelimit.*.limit"]);
    const everything = scopedPermissions(template("Full access"), { api: "api_1" });
    expect(everything).toContain("api.api_1.create_key");
    expect(everything.filter((triple) => triple.endsWith(".create_api"))).toEqual([]);
    expect(everything).toContain("rbac.*.create_role");
  });
});

const value = <Value>(of: Value) => ({ kind: { case: "value", value: of } }) as const;

const fields = {
  keyId: "rk_1",
  name: value("worker"),
  enabled: true,
  permissions: ["api.*.create_key", "api.*.read_api"],
  usedPermissions: [
    { permission: "api.*.delete_api", lastUsedAt: 1n },
    { permission: "api.*.read_api", lastUsedAt: 1n },
  ],
};
const rootKey = create(RootKeySchema, fields);

describe("[console §3] root keys", () => {
  test("are shrunk to what they used and still hold", () => {
    expect(usedOf(rootKey)).toEqual(["api.*.read_api"]);
    expect(unshrinkable(rootKey)).toBeUndefined();
    expect(unshrinkable({ ...rootKey, usedPermissions: [] })).toContain("revoke it");
    expect(unshrinkable({ ...rootKey, permissions: ["api.*.read_api"] })).toContain("all of its permissions");
  });

  test("a form sends what was changed and nothing else", () => {
    const draft = rootKeyDraft.draftOf(rootKey);
    expect(rootKeyDraft.changesOf(rootKey, draft)).toEqual([]);
    expect(rootKeyDraft.requestOf(rootKey, draft)).toEqual({ keyId: "rk_1" });
    const changed = { ...draft, name: { kind: "clear" } as const, permissions: ["api.*.read_api", "api.*.read_key"] };
    expect(rootKeyDraft.requestOf(rootKey, changed)).toEqual({
      keyId: "rk_1",
      name: { kind: { case: "null", value: 0 } },
      permissions: { values: ["api.*.read_api", "api.*.read_key"] },
    });
    expect(rootKeyDraft.changesOf(rootKey, changed)).toEqual([
      { field: "name", before: "worker", after: "no name" },
      { field: "permissions", before: "api.*.create_key", after: undefined },
      { field: "permissions", before: undefined, after: "api.*.read_key" },
    ]);
  });

  test("their use is no change, everything else is", () => {
    expect(rootKeyDraft.isSame(rootKey, { ...rootKey, lastUsedAt: 7n, usedPermissions: [] })).toBe(true);
    for (const other of [{ name: value("x") }, { expires: value(7n) }, { enabled: false }, { permissions: [] }])
      expect(rootKeyDraft.isSame(rootKey, create(RootKeySchema, { ...fields, ...other }))).toBe(false);
  });

  test("are enabled, disabled or expired", () => {
    expect(stateOf(rootKey, 10)).toBe("enabled");
    expect(stateOf({ ...rootKey, enabled: false }, 10)).toBe("disabled");
    expect(stateOf(create(RootKeySchema, { ...fields, expires: value(10n) }), 10)).toBe("expired");
  });
});

const role = create(RoleSchema, { id: "role_1", name: "accountant", permissions: [{ slug: "invoices.read" }, { slug: "reports.read" }] });

describe("[console §3] holders of a permission", () => {
  test("wildcards above what is asked, and slugs below a wildcard that is asked", () => {
    for (const slug of ["invoices.read", "invoices.*", "*"]) expect(isAnswer(slug, "invoices.read")).toBe(true);
    for (const slug of ["invoices.write", "invoices", "reports.*"]) expect(isAnswer(slug, "invoices.read")).toBe(false);
    expect(isAnswer("invoices.read", "invoices.*")).toBe(true);
    expect(slugsAsked("invoices.*", ["invoices.read", "reports.read"])).toEqual(["invoices.*", "*", "invoices.read"]);
    expect(searchText("invoices.*")).toBe("invoices.");
    expect(searchText("invoices.read")).toBe("invoices.read");
  });

  test("a key holds it by itself or through a role", () => {
    expect(rolesGiving([role], "invoices.*")).toEqual([role]);
    expect(rolesGiving([role], "orders.*")).toEqual([]);
    const key = create(KeySchema, { roles: ["accountant"], permissions: ["*", "invoices.read", "other"] });
    expect(holdingsOf(key, [role], "invoices.*")).toEqual([
      { slug: "*", roles: [] },
      { slug: "invoices.read", roles: ["accountant"] },
    ]);
  });
});

test("[console §3] roles and permissions: what was changed and nothing else", () => {
  expect(roleChanges(role, { name: "accountant", description: { kind: "set", value: "" } })).toEqual([]);
  expect(roleRequest(role, { name: "clerk", description: keep })).toEqual({ role: "role_1", name: "clerk" });
  const permission = { id: "perm_1", name: "Read", slug: "invoices.read", description: "x", $typeName: "latchkey.v2.Permission" } as const;
  expect(permissionRequest(permission, { name: "Read", slug: "bills.read", description: { kind: "clear" } })).toEqual({
    permission: "perm_1",
    slug: "bills.read",
    description: { kind: { case: "null", value: 0 } },
  });
  const draft = { permissions: "invoices.read\ninvoices.*" };
  expect(grantsChanges(role, draft)).toEqual([
    { field: "permissions", before: "reports.read", after: undefined },
    { field: "permissions", before: undefined, after: "invoices.*" },
  ]);
  expect(grantsRequest(role, draft)).toEqual({ role: "role_1", permissions: { values: ["invoices.read", "invoices.*"] } });
});

describe("[console §3] identities", () => {
  const limit = { name: "requests", limit: 1_000n, duration: 60_000n, autoApply: true };
  const identity = create(IdentitySchema, { id: "id_1", externalId: "acme", meta: { plan: "pro" }, ratelimits: [limit] });

  test("meta and limits are kept, set and cleared", () => {
    expect(identityDraft.requestOf(identity, identityDraft.draftOf())).toEqual({ identity: "id_1" });
    const cleared = { ratelimits: { kind: "clear" }, meta: { kind: "clear" } } as const;
    expect(identityDraft.requestOf(identity, cleared)).toEqual({ identity: "id_1", meta: {}, ratelimits: { values: [] } });
    expect(identityDraft.changesOf(identity, cleared)).toEqual([
      { field: "ratelimits", before: "requests: 1,000 per 1m, always checked", after: "no limits" },
      { field: "meta", before: '{"plan":"pro"}', after: "no meta" },
    ]);
    expect(identityDraft.problemIn({ ratelimits: keep, meta: { kind: "set", value: "[1]" } })).toBeDefined();
  });

  test("have a path that browsers leave as it is", () => {
    expect(identityPath({ id: "id_1", externalId: "acme.eu/ü" })).toBe("/ui/identities/acme.eu%2F%C3%BC");
    for (const externalId of [".", "..", "id_2"]) expect(identityPath({ id: "id_1", externalId })).toBe("/ui/identities/id_1");
  });
});

test("[console §3] rebased on another editor's change, only the fields that this form changed differ from the stored ones", () => {
  const initial = { name: "one", list: ["a"] };
  expect(isUntouched({ name: "one", list: ["a"] }, initial)).toBe(true);
  const mine = { name: "one", list: ["a", "b"] };
  expect(isUntouched(mine, initial)).toBe(false);
  expect(rebasedDraft(mine, initial, { name: "theirs", list: [] })).toEqual({ name: "theirs", list: ["a", "b"] });
});
