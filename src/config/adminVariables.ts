import { type Secret, secret } from "../domain/secrets/secret.ts";
import { host, integer, isLoopback, oneOf, type Parser, type Reading, type Variable, type WithDefault } from "./parsers.ts";
import { secretFileVariables } from "./secretFiles.ts";
import { readAdminTls, type TlsFiles, tlsVariables } from "./tlsVariables.ts";

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

interface AdminVariables {
  readonly adminHost: Variable<string>;
  readonly adminPort: WithDefault<number>;
  readonly adminToken: Variable<Secret>;
  readonly profiles: WithDefault<"on" | "off">;
}

/** Variables of the admin port, a part of the one table. */
export const adminVariables: AdminVariables = {
  adminHost: {
    name: "ADMIN_HOST",
    byDefault: undefined,
    description: "Address of the admin port; the value of `HOST` when unset.",
    parse: host,
  },
  adminPort: {
    name: "ADMIN_PORT",
    byDefault: "9090",
    description: "Port of `/metrics`, `/livez` and `/readyz`, and of `/profiles`; `0` picks a free one.",
    parse: integer(0, 65_535),
  },
  adminToken: {
    name: "ADMIN_TOKEN",
    byDefault: undefined,
    description:
      "Token that `/metrics` and `/profiles` ask for, as `Authorization: Bearer …`; at least 16 characters. `/livez` and `/readyz` need none. Without it, and without `ADMIN_TLS_CLIENT_CA`, everybody who reaches the admin port sees metrics.",
    parse: adminToken,
  },
  profiles: {
    name: "PROFILES",
    byDefault: "off",
    description:
      "Profiles of CPU and memory by `POST /profiles/…` on the admin port: `on` or `off`. `on` needs `ADMIN_TOKEN`, `ADMIN_TLS_CLIENT_CA`, or a loopback address as `ADMIN_HOST`.",
    parse: oneOf(["on", "off"] as const),
  },
};

/** @param serviceHost where it listens unless told. */
export const readAdmin = (
  reading: Reading & { readonly readRequired: <T>(variable: WithDefault<T>) => T },
  serviceHost: string,
): AdminConfig => {
  const { env, read, readRequired, problems } = reading;
  const { adminHost, adminPort, adminToken, profiles } = adminVariables;
  const { adminTokenFile } = secretFileVariables;
  const config: AdminConfig = {
    host: read(adminHost) ?? serviceHost,
    port: readRequired(adminPort),
    tls: readAdminTls(reading),
    token: read(adminToken),
    tokenFile: read(adminTokenFile),
    profiles: readRequired(profiles) === "on",
  };
  const isProtected = [adminToken, adminTokenFile, tlsVariables.adminClientCaFile].some(({ name }) => env[name] !== undefined);
  if (config.profiles && !isProtected && !isLoopback(config.host))
    problems.set(
      profiles.name,
      `PROFILES=on lets everybody who reaches ${config.host} take profiles: set ADMIN_TOKEN, ADMIN_TOKEN_FILE or ADMIN_TLS_CLIENT_CA, or ADMIN_HOST to a loopback address`,
    );
  return config;
};
