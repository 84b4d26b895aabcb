import { type Secret, secret } from "../secrets/secret.ts";
import { host, integer, isLoopback, oneOf, type Parser, type Reading, type Variables } from "./parsers.ts";
import { secretFileVariables } from "./secretFiles.ts";
import { readAdminTls, type TlsFiles } from "./tlsVariables.ts";

/** The port of metrics, probes and profiles. */
export interface AdminConfig {
  readonly host: string;
  /** 0 = a free port. */
  readonly port: number;
  /** Absent = it speaks HTTP. */
  readonly tls: TlsFiles | undefined;
  /** What all but probes need; absent = no token is needed. */
  readonly token: Secret | undefined;
  /** The file that the token came from. */
  readonly tokenFile: string | undefined;
  /** Whether profiles can be taken. */
  readonly profiles: boolean;
}

/** A token as it can stand behind `Bearer` (RFC 6750 §2.1), too long to be guessed. */
export const adminToken: Parser<Secret> = (value) =>
  /^[A-Za-z0-9._~+/-]+=*$/.test(value) && value.length >= 16 && value.length <= 512
    ? { value: secret(value) }
    : { expected: "a token of 16 to 512 letters, digits, and - . _ ~ + /, such as `openssl rand -base64 32` prints" };

const variables = {
  ADMIN_HOST: {
    description: "Address of the admin port; the value of `HOST` when unset.",
    parse: host,
  },
  ADMIN_PORT: {
    byDefault: "9090",
    description: "Port of `/metrics`, `/livez` and `/readyz`, and of `/profiles`; `0` picks a free one.",
    parse: integer(0, 65_535),
  },
  ADMIN_TOKEN: {
    description:
      "Token that `/metrics` and `/profiles` ask for, as `Authorization: Bearer …`; at least 16 characters. `/livez` and `/readyz` need none. Without it, and without `ADMIN_TLS_CLIENT_CA`, everybody who reaches the admin port sees metrics.",
    parse: adminToken,
    isSecret: true,
  },
  PROFILES: {
    byDefault: "off",
    description:
      "Profiles of CPU and memory by `POST /profiles/…` on the admin port: `on` or `off`. `on` needs `ADMIN_TOKEN`, `ADMIN_TLS_CLIENT_CA`, or a loopback address as `ADMIN_HOST`.",
    parse: oneOf(["on", "off"] as const),
  },
} as const satisfies Variables;

/** Variables of the admin port. */
export const adminVariables: Variables = variables;

/** @param serviceHost where it listens unless told. */
export const readAdmin = (reading: Reading, serviceHost: string): AdminConfig => {
  const { env, read, problems } = reading;
  const config: AdminConfig = {
    host: read(variables, "ADMIN_HOST") ?? serviceHost,
    port: read(variables, "ADMIN_PORT"),
    tls: readAdminTls(reading),
    token: read(variables, "ADMIN_TOKEN"),
    tokenFile: read(secretFileVariables, "ADMIN_TOKEN_FILE"),
    profiles: read(variables, "PROFILES") === "on",
  };
  const isProtected = ["ADMIN_TOKEN", "ADMIN_TOKEN_FILE", "ADMIN_TLS_CLIENT_CA"].some((name) => env[name] !== undefined);
  if (config.profiles && !isProtected && !isLoopback(config.host))
    problems.set(
      "PROFILES",
      `PROFILES=on lets everybody who reaches ${config.host} take profiles: set ADMIN_TOKEN, ADMIN_TOKEN_FILE or ADMIN_TLS_CLIENT_CA, or ADMIN_HOST to a loopback address`,
    );
  return config;
};
