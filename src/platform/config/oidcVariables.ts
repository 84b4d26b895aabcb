import { type Secret, secret } from "../secrets/secret.ts";
import { type Parser, type Reading, text, type Variables } from "./parsers.ts";
import { type PermissionMapping, readPermissionMapping } from "./permissionMapping.ts";

/** A value that is in a file, which is read when the service starts. */
export interface InFile {
  readonly file: string;
}

/** Signing in to the console by OpenID Connect (console §2.8). */
export interface OidcConfig {
  /** As the provider calls itself. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
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

const variables = {
  OIDC_ISSUER: {
    description:
      "OpenID Connect provider by which people sign in to the console, as `https://accounts.example.com`. Its redirect URI is `PUBLIC_URL` + `/ui/oidc/callback`.",
    parse: issuer,
  },
  OIDC_CLIENT_ID: { description: "What the provider calls this service.", parse: text },
  OIDC_CLIENT_SECRET: {
    description: "The secret that goes with `OIDC_CLIENT_ID`; the same on all nodes.",
    parse: (value: string) => ({ value: secret(value) }),
    isSecret: true,
  },
  OIDC_PERMISSIONS: {
    description:
      'Who may do what, as JSON or the path of a file with it: `{"claim":"groups","permissions":{"platform":["*"],"support":["api.*.read_key"]}}`; `"scopes":["groups"]` asks the provider for others than `profile` and `email`. Nobody else gets in.',
    parse: permissions,
    isSecret: true,
  },
} as const satisfies Variables;

/** Variables of signing in by OpenID Connect. */
export const oidcVariables: Variables = variables;

const needed = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_PERMISSIONS"] as const;

/** Undefined where people sign in with root keys only. */
export const readOidc = ({ env, read, problems }: Reading): OidcConfig | undefined => {
  const issuer = read(variables, "OIDC_ISSUER");
  const clientId = read(variables, "OIDC_CLIENT_ID");
  const clientSecret = read(variables, "OIDC_CLIENT_SECRET");
  const permissions = read(variables, "OIDC_PERMISSIONS");
  // A file that cannot be read is a problem of its own.
  const inFile = env.OIDC_CLIENT_SECRET_FILE === undefined ? undefined : "OIDC_CLIENT_SECRET";
  const missing = needed.filter((name) => env[name] === undefined && name !== inFile);
  if (missing.length === needed.length) return undefined;
  if (missing.length > 0) problems.set("OIDC", `${needed.join(", ")}: set all of them or none, ${missing.join(", ")} is missing`);
  if (issuer === undefined || clientId === undefined || clientSecret === undefined || permissions === undefined) return undefined;
  return { issuer, clientId, clientSecret, permissions };
};
