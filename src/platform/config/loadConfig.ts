import type { EncryptionKey } from "../secrets/keyRing.ts";
import { type AdminConfig, adminVariables, readAdmin } from "./adminVariables.ts";
import { type AnalyticsConfig, analyticsVariables, readAnalytics } from "./analyticsVariables.ts";
import { type ConsoleConfig, consoleVariables, readConsole } from "./consoleVariables.ts";
import { type CountersConfig, countersVariables, readCounters } from "./countersVariables.ts";
import { oidcVariables } from "./oidcVariables.ts";
import {
  encryptionKeys,
  host,
  integer,
  mongodbUrl,
  networks,
  oneOf,
  type Reading,
  staleness,
  text,
  type Variable,
  type Variables,
  webOrigin,
  webUrl,
} from "./parsers.ts";
import { secretFileVariables } from "./secretFiles.ts";
import { readServiceTls, type TlsFiles, tlsVariables } from "./tlsVariables.ts";
import { readTracing, type TracingConfig, tracingVariables } from "./tracingVariables.ts";
import { readWorkers, workersVariables } from "./workersVariables.ts";

/** Everything that an operator can set. Read once at start by `loadConfig`; nothing else looks at the environment. */
export interface Config {
  readonly host: string;
  /** 0 = a free port. */
  readonly port: number;
  /** Processes that serve; 1 = the service is the process that was started. */
  readonly workers: number;
  readonly admin: AdminConfig;
  readonly dataDir: string;
  /** May hold a password: print only `withoutCredentials` of it. Absent = the embedded store under `dataDir`. */
  readonly mongodbUrl: string | undefined;
  /** Whether a start brings the store on MongoDB up to date. */
  readonly migrates: boolean;
  /** Absent = the store counts rate limits. */
  readonly counters: CountersConfig | undefined;
  /** Of the service port and the console's. */
  readonly tls: TlsFiles | undefined;
  readonly logLevel: LogLevel;
  /** Origin that people use. Absent = the address that the service listens on. */
  readonly publicUrl: string | undefined;
  /** Absolute http(s) URL without a trailing slash; `error.type` is this + `/errors/…` (protocol §5). Absent = `/docs` on the address that the service listens on. */
  readonly errorsBaseUrl: string | undefined;
  /** Whether the documentation is served. */
  readonly docs: boolean;
  readonly maxBodyBytes: number;
  /** Memory of all caches together, in MiB, by an estimate. */
  readonly cacheMegabytes: number;
  /** Calls that wait for something at the same time, before callers have to share. */
  readonly maxInFlight: number;
  /** Calls per minute of the whole workspace (protocol §8); absent = no limit, 0 = everything is refused. */
  readonly managementRateLimit: number | undefined;
  readonly ratelimitStoreDown: "allow" | "deny";
  /** For how long remembered keys may be answered without contact with the store, in milliseconds; 0 = not at all. */
  readonly verifyStoreDown: number;
  /** Newest first; absent = no recoverable keys. Never printed. */
  readonly encryptionKeys: readonly EncryptionKey[] | undefined;
  /** Addresses and networks whose `X-Forwarded-For` is believed, as `address/prefix`. */
  readonly trustedProxies: readonly string[];
  /** Whether gRPC server reflection is served. */
  readonly reflection: boolean;
  /** For how long entries of the audit log are kept; absent = for ever. */
  readonly auditRetentionDays: number | undefined;
  /** Where events are kept and queried; absent = there is no analytics store. */
  readonly analytics: AnalyticsConfig | undefined;
  /** Milliseconds, before the jitter; absent = connections may stay for ever. */
  readonly maxConnectionAge: number | undefined;
  /** How long a service that is told to stop goes on as before, not ready any more, in milliseconds. */
  readonly shutdownDelay: number;
  /** Absent = there is none. */
  readonly console: ConsoleConfig | undefined;
  /** Absent = nothing is traced. */
  readonly tracing: TracingConfig | undefined;
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Variables that belong to no group. */
const variables = {
  HOST: { byDefault: "127.0.0.1", description: "Address that the service listens on; `0.0.0.0` or `::` for all.", parse: host },
  PORT: { byDefault: "3000", description: "Port of `/v2`, gRPC, gRPC-Web and Connect; `0` picks a free one.", parse: integer(0, 65_535) },
  SHUTDOWN_DELAY: {
    byDefault: "0",
    description:
      "Seconds for which a service that is told to stop goes on as before, while `/readyz` answers 503, so that load balancers that ask it send no more calls.",
    parse: integer(0, 300),
  },
  DATA_DIR: { byDefault: "./data", description: "Directory of the embedded store and of the first root key.", parse: text },
  MONGODB_URL: {
    description: "MongoDB to keep the state in, database `latchkey` unless the URL names one; the embedded store when unset.",
    parse: mongodbUrl,
    isSecret: true,
  },
  MIGRATE: {
    byDefault: "on",
    description: "`off`: nodes do not bring a store on MongoDB up to date themselves, but wait for `latchkey migrate`.",
    parse: oneOf(["on", "off"] as const),
  },
  LOG_LEVEL: {
    byDefault: "info",
    description: `Lowest level that is logged: ${logLevels.map((level) => `\`${level}\``).join(", ")}.`,
    parse: oneOf(logLevels),
  },
  PUBLIC_URL: {
    description:
      "Origin at which people open the console and the documentation, such as `https://keys.example.com`. Unset, the console answers to `localhost`, `127.0.0.1` and `[::1]` only.",
    parse: webOrigin,
  },
  ERRORS_BASE_URL: {
    description:
      "The start of every `error.type`, before `/errors/…`. Unset, it is `/docs` at `PUBLIC_URL`, or else at the address that the service listens on (`localhost` if it listens on all), where every error has its page.",
    parse: webUrl,
  },
  DOCS: {
    byDefault: "on",
    description: "The documentation on `/docs`, open to anyone who can reach the port: `on` or `off`.",
    parse: oneOf(["on", "off"] as const),
  },
  MAX_BODY_BYTES: {
    byDefault: "10485760",
    description: "Maximum size of a request body in bytes, after decompression; larger ones get a 413.",
    parse: integer(1024, 1_073_741_824),
  },
  CACHE_MB: {
    byDefault: "256",
    description: "Memory for caches, in MiB. One MiB holds about 500 keys with everything that verifying them needs.",
    parse: integer(16, 65_536),
  },
  MAX_IN_FLIGHT: {
    byDefault: "10000",
    description:
      "Maximum number of calls in progress. At that number, root keys and addresses share the capacity fairly, up to twice as many calls; the rest get a 503 at once.",
    parse: integer(1, 1_000_000),
  },
  MANAGEMENT_RATE_LIMIT: {
    description:
      "Maximum number of authenticated calls per minute, for all root keys together; no limit when unset. `0` refuses every call, including your own; only the command line still works.",
    parse: integer(0, 1_000_000_000),
  },
  RATELIMIT_STORE_DOWN: {
    byDefault: "allow",
    description: "Rate limits while the store is away: `allow` admits at most one more limit per node and window, `deny` nothing.",
    parse: oneOf(["allow", "deny"] as const),
  },
  VERIFY_STORE_DOWN: {
    byDefault: "stale:30",
    description:
      "Verification while the store is away: `stale:<seconds>` answers from memory for that long, marked with `meta.degraded`; `deny` answers 503, for rate limits as well, whatever `RATELIMIT_STORE_DOWN` says.",
    parse: staleness,
  },
  ENCRYPTION_KEYS: {
    description: "Encryption keys for recoverable API keys, newest first, comma-separated: `id:base64 of 32 bytes`. Unset: there are none.",
    parse: encryptionKeys,
    isSecret: true,
  },
  TRUSTED_PROXIES: {
    description:
      "Addresses and networks of your proxies (`10.0.0.0/8`), comma-separated. Their `X-Forwarded-For` is taken as the caller's address, and their `X-Forwarded-Proto: https` lets people sign in to the console.",
    parse: networks,
  },
  REFLECTION: {
    byDefault: "on",
    description: "gRPC server reflection, which describes the interface to anyone who can reach the port: `on` or `off`.",
    parse: oneOf(["on", "off"] as const),
  },
  AUDIT_RETENTION_DAYS: {
    description: "Days for which audit log entries are kept; forever when unset. The chain still verifies after older ones are dropped.",
    parse: integer(1, 36_500),
  },
  MAX_CONNECTION_AGE: {
    description:
      "Seconds after which a connection is closed gracefully, give or take a tenth: by GOAWAY on HTTP/2, by `Connection: close` with the next answer on HTTP/1.1. Calls in progress are answered; one that crosses the GOAWAY on its way is refused before it has begun. Never when unset.",
    parse: integer(1, 86_400),
  },
} as const satisfies Variables;

/** How a variable is documented. `byDefault` is undefined for one that may stay unset. */
export interface ConfigVariable {
  readonly name: string;
  readonly byDefault: string | undefined;
  readonly description: string;
}

/** All variables: what `docs/reference/settings.md` lists, `latchkey help` shows and `loadConfig` reads, in that order. */
export const configVariables: readonly ConfigVariable[] = Object.entries<Variable<unknown>>({
  ...variables,
  ...adminVariables,
  ...tlsVariables,
  ...workersVariables,
  ...secretFileVariables,
  ...countersVariables,
  ...analyticsVariables,
  ...consoleVariables,
  ...oidcVariables,
  ...tracingVariables,
}).map(([name, { byDefault, description }]) => ({ name, byDefault, description }));

/**
 * Reads the configuration out of an environment. Pure: opens no file and asks no network.
 *
 * Every problem is reported at once, one sentence each, naming its variable. A malformed or empty value is a problem,
 * never replaced by the default. What may hold a password is not repeated.
 */
export const loadConfig = (
  env: Readonly<Record<string, string | undefined>>,
): { readonly ok: Config } | { readonly problems: readonly string[] } => {
  const problems = new Map<string, string>();

  const read: Reading["read"] = (variables, name) => {
    // TypeScript does not relate the type of one variable to that of its value.
    const { byDefault, parse, isSecret } = variables[name] as Variable<never>;
    const given = env[name] ?? byDefault;
    if (given === undefined) return undefined as never;
    const parsed = given.trim() === "" ? { expected: "a value, or not set at all" } : parse(given);
    if ("value" in parsed) return parsed.value;
    const shown = given.includes("@") || (isSecret && given.trim() !== "") ? "its value" : JSON.stringify(given);
    problems.set(name, `${name}: ${shown} is not ${parsed.expected}`);
    const fallback = byDefault === undefined ? undefined : parse(byDefault);
    return (fallback && "value" in fallback ? fallback.value : undefined) as never;
  };
  const reading = { env, read, problems };
  const value = <N extends keyof typeof variables>(name: N) => read(variables, name);

  for (const name of Object.keys(secretFileVariables)) read(secretFileVariables, name as keyof typeof secretFileVariables);
  // `documents`, the former default, may stay in an environment.
  if ((env.RATELIMIT_COUNTERS ?? "documents") !== "documents") {
    problems.set(
      "COUNTERS",
      "RATELIMIT_COUNTERS was removed, because rate limits are counted by the store, or by the server of COUNTERS_URL: unset it",
    );
  }
  const maxConnectionAge = value("MAX_CONNECTION_AGE");
  const analytics = readAnalytics(reading);
  const address = value("HOST");
  const publicUrl = value("PUBLIC_URL");
  const config: Config = {
    host: address,
    port: value("PORT"),
    admin: readAdmin(reading, address),
    shutdownDelay: value("SHUTDOWN_DELAY") * 1_000,
    workers: readWorkers(reading, analytics !== undefined && analytics.clickhouseUrl === undefined),
    dataDir: value("DATA_DIR"),
    mongodbUrl: value("MONGODB_URL"),
    migrates: value("MIGRATE") === "on",
    counters: readCounters(reading),
    tls: readServiceTls(reading),
    logLevel: value("LOG_LEVEL"),
    publicUrl,
    errorsBaseUrl: value("ERRORS_BASE_URL") ?? (publicUrl && `${publicUrl}/docs`),
    docs: value("DOCS") === "on",
    maxBodyBytes: value("MAX_BODY_BYTES"),
    cacheMegabytes: value("CACHE_MB"),
    maxInFlight: value("MAX_IN_FLIGHT"),
    managementRateLimit: value("MANAGEMENT_RATE_LIMIT"),
    ratelimitStoreDown: value("RATELIMIT_STORE_DOWN"),
    verifyStoreDown: value("VERIFY_STORE_DOWN"),
    encryptionKeys: value("ENCRYPTION_KEYS"),
    trustedProxies: value("TRUSTED_PROXIES") ?? [],
    reflection: value("REFLECTION") === "on",
    auditRetentionDays: value("AUDIT_RETENTION_DAYS"),
    analytics,
    maxConnectionAge: maxConnectionAge === undefined ? undefined : maxConnectionAge * 1_000,
    console: readConsole(reading, address),
    tracing: readTracing(reading),
  };
  const ports = { PORT: config.port, ADMIN_PORT: config.admin.port, CONSOLE_PORT: config.console?.port };
  for (const [name, port] of Object.entries(ports)) {
    const [other] = Object.entries(ports).find(([before, taken]) => before !== name && taken === port) ?? [];
    if (other === undefined || !port || problems.has(name) || problems.has(other)) continue;
    problems.set(name, `${name} and ${other}: both are ${port}, they need two different ports`);
    break;
  }
  return problems.size > 0 ? { problems: [...problems.values()] } : { ok: config };
};

/** A connection URL as it may be printed: scheme, hosts and database, without user, password and options. */
export const withoutCredentials = (url: string): string => url.replace(/^([a-z0-9+]+:\/\/).*@/is, "$1").replace(/\?.*$/s, "");
