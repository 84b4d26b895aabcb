import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { getOption } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { changes, permission } from "../../gen/latchkey/v2/options_pb.ts";
import { rootKeyTemplates } from "../../src/features/rootKeys/rootKeyTemplates.ts";
import { allPermissions, parsePermission } from "../../src/platform/authorization/authorization.ts";
import { unaryMethods } from "../../src/platform/rpc/edges/unaryMethods.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import { services } from "../../src/service/services.ts";

const root = join(import.meta.dirname, "../..");

/** `KeysService.getKey` of every procedure that a file of the console names. */
const callsIn = (text: string): string[] =>
  [...text.matchAll(/(?:\{(?<names>[^{}]+)\} = )?(?<service>[A-Z]\w+Service)\.method(?:\.(?<name>\w+))?/g)].flatMap(({ groups }) =>
    (groups?.name === undefined ? (groups?.names ?? "").split(",") : [groups.name]).map((name) => `${groups?.service}.${name.trim()}`),
  );

const called = new Set(globSync("ui/src/**/*.{ts,tsx}", { cwd: root }).flatMap((file) => callsIn(readFileSync(join(root, file), "utf8"))));
const procedures = unaryMethods(services).map((method) => ({
  name: procedureName(method),
  isOfConsole: called.has(`${method.parent.name}.${method.localName}`),
  changes: getOption(method, changes),
  rows: getOption(method, permission),
}));
const ofConsole = procedures.filter(({ isOfConsole }) => isOfConsole);

/** The permission of a row in `*` form, and whether only some requests need it; undefined for rows that name none. */
const readRow = (row: string) => {
  const [, type, action, rest = ""] = /^([a-z_]+)\.(?:\*|\{[^}]+\})\.([a-z_]+)(.*)$/.exec(row) ?? [];
  return type === undefined ? undefined : { triple: `${type}.*.${action}`, isConditional: /^ when (?!kind)/.test(rest) };
};
/** The permissions that every request needs, or that some request needs. */
const needed = (rows: readonly string[], conditional: boolean): string[] =>
  rows.flatMap((row) => {
    const read = readRow(row);
    return read === undefined || (read.isConditional && !conditional) ? [] : [read.triple];
  });

const permissionsOf = (name: string): readonly string[] =>
  rootKeyTemplates.find((template) => template.name === name)?.permissions ?? expect.unreachable(name);
/** The procedures of the console that the template may call, as far as a request needs nothing beyond. */
const callable = (name: string): string[] =>
  ofConsole
    .filter(({ rows }) => needed(rows, false).every((triple) => permissionsOf(name).includes(triple)))
    .map((procedure) => procedure.name)
    .filter((procedure) => procedure !== "rootKeys.whoami")
    .sort();

describe("templates", () => {
  test("are five lists of permissions in `*` form, sorted, each once", () => {
    expect(rootKeyTemplates.map(({ name }) => name)).toEqual(["verifier", "issuer", "analyst", "read-only", "admin"]);
    for (const { permissions } of rootKeyTemplates) {
      expect(permissions).toEqual([...new Set(permissions)].sort());
      expect(permissions.filter((triple) => parsePermission(triple)?.id !== "*")).toEqual([]);
    }
  });

  test("the calls of the console, and their permissions, are found", () => {
    expect(ofConsole.length).toBeGreaterThan(40);
    const unread = procedures.flatMap(({ rows }) => rows).filter((row) => readRow(row) === undefined);
    expect([...new Set(unread)].sort()).toEqual([
      "every permission given",
      "every permission of the old key",
      "none: every root key may see itself",
    ]);
    for (const triple of procedures.flatMap(({ rows }) => needed(rows, true))) expect(allPermissions).toContain(triple);
  });

  test("admin sees and does everything in the console, and may hand out all of it", () => {
    for (const { name, rows } of ofConsole)
      expect([name, needed(rows, true).filter((triple) => !permissionsOf("admin").includes(triple))]).toEqual([name, []]);
    expect(permissionsOf("admin")).toContain("console.*.sign_in");
    expect(permissionsOf("admin")).toEqual(allPermissions);
  });

  test("read-only sees every page, and changes and spends nothing", () => {
    const spending = ["keys.verifyKey", "ratelimit.limit"];
    // Explaining a denial needs the permission to verify.
    const reading = ofConsole.filter((procedure) => !procedure.changes && ![...spending, "keys.explain"].includes(procedure.name));
    expect(callable("read-only")).toEqual(
      reading
        .map(({ name }) => name)
        .filter((name) => name !== "rootKeys.whoami")
        .sort(),
    );
    expect(permissionsOf("read-only").filter((triple) => !/\.(read|list)_/.test(triple))).toEqual([]);
  });

  test("analyst counts and queries all events, by the names of APIs and namespaces", () => {
    expect(callable("analyst")).toEqual([
      ...["analytics.getQuota", "analytics.getRatelimits", "analytics.getUsage", "analytics.getVerifications", "analytics.tail"],
      ...["apis.getApi", "apis.listApis", "ratelimit.listCounters", "ratelimit.listNamespaces"],
    ]);
  });

  test("issuer finds, makes, changes and deletes keys and their holders, and nothing else", () => {
    expect(callable("issuer")).toEqual([
      ...["apis.getApi", "apis.listApis", "apis.listKeys"],
      ...["identities.createIdentity", "identities.getIdentity", "identities.listIdentities", "identities.updateIdentity"],
      ...["keys.addRoles", "keys.createKey", "keys.deleteKey", "keys.getKey", "keys.removeRoles", "keys.rerollKey", "keys.searchKeys"],
      ...["keys.updateCredits", "keys.updateKey"],
      ...["permissions.getPermission", "permissions.getRole", "permissions.listPermissions", "permissions.listRoles"],
    ]);
  });

  test("verifier verifies keys and checks limits", () => {
    expect(callable("verifier")).toEqual(["keys.verifyKey", "ratelimit.limit"]);
  });
});
