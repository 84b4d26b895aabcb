import { type PermissionMapping, readPermissionMapping } from "../domain/console/permissionMapping.ts";
import { type Secret, secret } from "../domain/secrets/secret.ts";
import { type Parser, type Reading, text, type Variable } from "./parsers.ts";

/** A value that is in a file, which is read when the service starts. */
export interface InFile {
  readonly file: string;
}

/** Signing in to the console by OpenID Connect (console §2.8). */
export interface OidcConfig {
  /** As the provider calls itself. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | InFile;
  readonly permissions: PermissionMapping | InFile;
}

const localHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** https, or http on this machine, as for a provider of a test. */
const issuer: Parser<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && localHost.test(url.hostname));
  return isSafe && !/[?#@\s]/.test(value) && value.length <= 255
    ? { value }
    : { expected: "an https URL of at most 255 characters without credentials, query or fragment; http only on this machine" };
};

const permissions: Parser<PermissionMapping | InFile> = (value) => {
  if (!value.trimStart().startsWith("{")) return { value: { file: value } };
  const mapping = readPermissionMapping(value);
  return "value" in mapping ? mapping : { expected: `a mapping of people to permissions: ${mapping.problem}` };
};

interface OidcVariables {
  readonly oidcIssuer: Variable<string>;
  readonly oidcClientId: Variable<string>;
  readonly oidcClientSecret: Variable<Secret>;
  readonly oidcClientSecretFile: Variable<string>;
  readonly oidcPermissions: Variable<PermissionMapping | InFile>;
}

/** Variables of signing in by OpenID Connect, a part of the one table. */
export const oidcVariables: OidcVariables = {
  oidcIssuer: {
    name: "OIDC_ISSUER",
    byDefault: undefined,
    description:
      "OpenID Connect provider by which people sign in to the console, as `https://accounts.example.com`. Its redirect URI is `PUBLIC_URL` + `/ui/oidc/callback`.",
    parse: issuer,
  },
  oidcClientId: { name: "OIDC_CLIENT_ID", byDefault: undefined, description: "What the provider calls this service.", parse: text },
  oidcClientSecret: {
    name: "OIDC_CLIENT_SECRET",
    byDefault: undefined,
    description: "The secret that goes with `OIDC_CLIENT_ID`; the same on all nodes.",
    parse: (value) => ({ value: secret(value) }),
  },
  oidcClientSecretFile: {
    name: "OIDC_CLIENT_SECRET_FILE",
    byDefault: undefined,
    description: "File with that secret, instead of `OIDC_CLIENT_SECRET`.",
    parse: text,
  },
  oidcPermissions: {
    name: "OIDC_PERMISSIONS",
    byDefault: undefined,
    description:
      'Who may do what, as JSON or the path of a file with it: `{"claim":"groups","permissions":{"platform":["*"],"support":["api.*.read_key"]}}`; `"scopes":["groups"]` asks the provider for others than `profile` and `email`. Nobody else gets in.',
    parse: permissions,
  },
};

const { oidcIssuer, oidcClientId, oidcClientSecret, oidcClientSecretFile, oidcPermissions } = oidcVariables;
const neededNames = [oidcIssuer, oidcClientId, oidcClientSecret, oidcPermissions].map(({ name }) => name);

/** Undefined where people sign in with root keys only. */
export const readOidc = ({ env, read, problems }: Reading): OidcConfig | undefined => {
  const given = {
    issuer: read(oidcIssuer),
    clientId: read(oidcClientId),
    secret: read(oidcClientSecret),
    file: read(oidcClientSecretFile),
    permissions: read(oidcPermissions),
  };
  const isSet = ({ name }: { readonly name: string }): boolean => env[name] !== undefined;
  const isComplete = {
    [oidcIssuer.name]: isSet(oidcIssuer),
    [oidcClientId.name]: isSet(oidcClientId),
    [oidcClientSecret.name]: isSet(oidcClientSecret) || isSet(oidcClientSecretFile),
    [oidcPermissions.name]: isSet(oidcPermissions),
  };
  const missing = neededNames.filter((name) => !isComplete[name]);
  if (missing.length === neededNames.length) return undefined;
  if (missing.length > 0) problems.set("OIDC", `${neededNames.join(", ")}: set all of them or none, ${missing.join(", ")} is missing`);
  if (isSet(oidcClientSecret) && isSet(oidcClientSecretFile))
    problems.set("OIDC secret", `${oidcClientSecret.name} and ${oidcClientSecretFile.name}: set one of them`);
  const clientSecret = given.secret ?? (given.file === undefined ? undefined : { file: given.file });
  const { issuer: known, clientId, permissions: mapping } = given;
  if (known === undefined || clientId === undefined || clientSecret === undefined || mapping === undefined) return undefined;
  return { issuer: known, clientId, clientSecret, permissions: mapping };
};
