import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isAuthenticatedSince } from "../../src/features/console/elevation.ts";
import { isSameIssuer, personId } from "../../src/platform/base/person.ts";
import {
  claimValues,
  mappedPermissions,
  type PermissionMapping,
  readPermissionMapping,
} from "../../src/platform/config/permissionMapping.ts";
import { secret } from "../../src/platform/secrets/secret.ts";
import { readOidcSettings } from "../../src/service/readOidcSettings.ts";

const mappingOf = (
  claim: unknown,
  permissions: object = { platform: ["*"], support: ["api.*.read_key", "api.*.read_api"] },
): PermissionMapping => {
  const read = readPermissionMapping(JSON.stringify({ claim, permissions }));
  return "value" in read ? read.value : expect.unreachable(read.problem);
};

test.each([
  ["a text", "groups", { groups: "support" }, ["support"]],
  ["a list, those that are mapped first", "groups", { groups: ["staff", 7, "", "support"] }, ["support", "staff"]],
  ["what is further in", ["realm_access", "roles"], { realm_access: { roles: ["support"] } }, ["support"]],
  ["a name with dots", "https://example.com/groups", { "https://example.com/groups": ["support"] }, ["support"]],
  ["no claim", "groups", {}, undefined],
  ["what no provider said", "constructor", {}, undefined],
  ["another kind of value", "groups", { groups: { support: true } }, []],
  ["an address that is verified", "email", { email: "a@example.com", email_verified: true }, ["a@example.com"]],
  ["one that is not", "email", { email: "a@example.com", email_verified: false }, []],
  ["one of which nobody says so", "email", { email: "a@example.com" }, []],
])("[console §2.8] the values of a claim are read from %s", (_what, claim, claims, values) => {
  expect(claimValues(mappingOf(claim), claims)).toEqual(values);
});

test("[console §2.8] a person has the permissions of all their values, of the claim that is mapped", () => {
  const mapping = mappingOf("groups", { a: ["api.*.read_key"], b: ["api.*.read_api", "api.*.read_key"], all: ["*"] });
  const of = (values: readonly string[], claim = '["groups"]') => mappedPermissions(mapping, { claim, values });
  expect(of(["a", "b", "c"])).toEqual(["api.*.read_api", "api.*.read_key"]);
  expect(of(["a", "all"])).toBe("everything");
  expect(of(["c"])).toBeUndefined();
  expect(of(["a"], '["department"]')).toBeUndefined();
});

test("[console §2.8] a person is known by issuer and subject", () => {
  expect(personId({ issuer: "https://accounts.example.com", subject: "248289" })).toBe("https://accounts.example.com#248289");
  expect(isSameIssuer("https://accounts.example.com", "https://accounts.example.com/")).toBe(true);
  expect(isSameIssuer("https://accounts.example.com", "https://accounts.example.com/tenant")).toBe(false);
});

test("[console §2.4] an earlier sign-in, or one without a reported time, does not count as signing in again", () => {
  const now = 1_750_000_000_000;
  expect(isAuthenticatedSince(now / 1_000, now)).toBe(true);
  expect(isAuthenticatedSince(now / 1_000 - 11, now)).toBe(false);
  expect(isAuthenticatedSince(undefined, now)).toBe(false);
});

test("[console §2.8] the mapping may be in a file, and what is wrong with it names its setting", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-oidc-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = async (name: string, text: string): Promise<{ readonly file: string }> => {
    await writeFile(join(directory, name), text);
    return { file: join(directory, name) };
  };
  const common = { issuer: "https://accounts.example.com", clientId: "latchkey" };
  const mapping = { claim: "groups", permissions: { platform: ["*"] } };
  const good = {
    ...common,
    clientSecret: secret("hunter2"),
    permissions: await file("people.json", JSON.stringify(mapping)),
  };
  const read = await readOidcSettings(good);
  expect([read.clientSecret.reveal(), read.mapping.claim]).toEqual(["hunter2", ["groups"]]);
  const missing = { file: join(directory, "missing") };
  const wrong = await file("wrong.json", JSON.stringify({ ...mapping, permissions: { platform: ["fly"] } }));
  await expect(readOidcSettings({ ...good, permissions: missing })).rejects.toThrow(/^OIDC_PERMISSIONS: .*missing cannot be read/);
  await expect(readOidcSettings({ ...good, permissions: wrong })).rejects.toThrow(
    /^OIDC_PERMISSIONS: .*wrong\.json is not a mapping .* "platform" the unknown permission "fly"/,
  );
});
