import type { EncryptionKey } from "../domain/secrets/keyRing.ts";
import { type AdminConfig, adminVariables, readAdmin } from "./adminVariables.ts";
import { type AnalyticsConfig, analyticsVariables } from "./analyticsVariables.ts";
import { type ConsoleConfig, consoleVariables, readConsole } from "./consoleVariables.ts";
import { documentationVariables } from "./documentationVariables.ts";
import { listenVariables } from "./listenVariables.ts";
import { oidcVariables } from "./oidcVariables.ts";
import {
  encryptionKeys,
  integer,
  mongodbUrl,
  networks,
  oneOf,
  type Parsed,
  staleness,
  text,
  type Variable,
  type WithDefault,
} from "./parsers.ts";
import { ratelimitVariables } from "./ratelimitVariables.ts";
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

/** The one table of variables: what `docs/configuration.md` lists, `latchkey help` shows and `loadConfig` reads. */
const variables = {
  ...listenVariables,
  ...adminVariables,
  ...tlsVariables,
  ...workersVariables,
  dataDir: {
    name: "DATA_DIR",
    byDefault: "./data",
    description: "Directory of the embedded store and of the first root key.",
    parse: text,
  },
  mongodbUrl: {
    name: "MONGODB_URL",
    byDefault: undefined,
    description: "MongoDB to keep the state in, database `latchkey` unless the URL names one; the embedded store when unset.",
    parse: mongodbUrl,
  },
  migrate: {
    name: "MIGRATE",
    byDefault: "on",
    description: "`off`: nodes do not bring a store on MongoDB up to date themselves, but wait for `latchkey migrate`.",
    parse: oneOf(["on", "off"] as const),
  },
  logLevel: {
    name: "LOG_LEVEL",
    byDefault: "info",
    description: `Lowest level that is logged: ${logLevels.map((level) => `\`${level}\``).join(", ")}.`,
    parse: oneOf(logLevels),
  },
  ...documentationVariables,
  maxBodyBytes: {
    name: "MAX_BODY_BYTES",
    byDefault: "10485760",
    description: "Maximum size of a request body in bytes, after decompression; larger ones get a 413.",
    parse: integer(1024, 1_073_741_824),
  },
  cacheMegabytes: {
    name: "CACHE_MB",
    byDefault: "256",
    description: "Memory for caches, in MiB. One MiB holds about 500 keys with everything that verifying them needs.",
    parse: integer(16, 65_536),
  },
  maxInFlight: {
    name: "MAX_IN_FLIGHT",
    byDefault: "10000",
    description:
      "Maximum number of calls in progress. At that number, root keys and addresses share the capacity fairly, up to twice as many calls; the rest get a 503 at once.",
    parse: integer(1, 1_000_000),
  },
  ...ratelimitVariables,
  verifyStoreDown: {
    name: "VERIFY_STORE_DOWN",
    byDefault: "stale:30",
    description:
      "Verification while the store is away: `stale:<seconds>` answers from memory for that long, marked with `meta.degraded`; `deny` answers 503, for rate limits as well, whatever `RATELIMIT_STORE_DOWN` says.",
    parse: staleness,
  },
  encryptionKeys: {
    name: "ENCRYPTION_KEYS",
    byDefault: undefined,
    description: "Encryption keys for recoverable API keys, newest first, comma-separated: `id:base64 of 32 bytes`. Unset: there are none.",
    parse: encryptionKeys,
  },
  trustedProxies: {
    name: "TRUSTED_PROXIES",
    byDefault: undefined,
    description:
      "Addresses and networks of your proxies (`10.0.0.0/8`), comma-separated. Their `X-Forwarded-For` is taken as the caller's address, and their `X-Forwarded-Proto: https` lets people sign in to the console.",
    parse: networks,
  },
  reflection: {
    name: "REFLECTION",
    byDefault: "on",
    description: "gRPC server reflection, which describes the interface to anyone who can reach the port: `on` or `off`.",
    parse: oneOf(["on", "off"] as const),
  },
  auditRetentionDays: {
    name: "AUDIT_RETENTION_DAYS",
    byDefault: undefined,
    description: "Days for which audit log entries are kept; forever when unset. The chain still verifies after older ones are dropped.",
    parse: integer(1, 36_500),
  },
  maxConnectionAge: {
    name: "MAX_CONNECTION_AGE",
    byDefault: undefined,
    description:
      "Seconds after which a connection is closed gracefully, give or take a tenth: by GOAWAY on HTTP/2, by `Connection: close` with the next answer on HTTP/1.1. Calls in progress are answered; one that crosses the GOAWAY on its way is refused before it has begun. Never when unset.",
    parse: integer(1, 86_400),
  },
  ...secretFileVariables,
  ...analyticsVariables,
  ...consoleVariables,
  ...oidcVariables,
  ...tracingVariables,
} as const satisfies Record<string, Variable<unknown>>;

/** How a variable is documented. `byDefault` is undefined for one that may stay unset. */
export interface ConfigVariable {
  readonly name: string;
  readonly byDefault: string | undefined;
  readonly description: string;
}

/** All variables, in the order in which they are documented. */
export const configVariables: readonly ConfigVariable[] = Object.values(variables);

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

  const read = <T>({ name, byDefault, parse }: Variable<T>): T | undefined => {
    const given = env[name] ?? byDefault;
    if (given === undefined) return undefined;
    const parsed: Parsed<T> = given.trim() === "" ? { expected: "a value, or not set at all" } : parse(given);
    if ("value" in parsed) return parsed.value;
    const { mongodbUrl, encryptionKeys, clickhouseUrl, oidcClientSecret, oidcPermissions, adminToken, otlpHeaders } = variables;
    const secrets = [mongodbUrl, encryptionKeys, clickhouseUrl, oidcClientSecret, oidcPermissions, adminToken, otlpHeaders];
    const unshown: readonly string[] = secrets.map(({ name }) => name);
    const mayHoldPassword = given.includes("@") || (unshown.includes(name) && given.trim() !== "");
    const shown = mayHoldPassword ? "its value" : JSON.stringify(given);
    problems.set(name, `${name}: ${shown} is not ${parsed.expected}`);
    return undefined;
  };
  const readRequired = <T>(variable: WithDefault<T>): T => {
    const value = read(variable);
    if (value !== undefined) return value;
    const fallback = variable.parse(variable.byDefault);
    if ("value" in fallback) return fallback.value;
    throw new Error(`the default of ${variable.name} is not ${fallback.expected}`);
  };

  for (const variable of Object.values(secretFileVariables)) read(variable);
  // `documents`, the former default, may stay in an environment.
  if ((env.RATELIMIT_COUNTERS ?? "documents") !== "documents") {
    problems.set("COUNTERS", "RATELIMIT_COUNTERS was removed, because rate limits on MongoDB are always counted in documents: unset it");
  }
  const maxConnectionAge = read(variables.maxConnectionAge);
  const analyticsMode = read(variables.analytics);
  const clickhouseUrl = read(variables.clickhouseUrl);
  const cluster = read(variables.clickhouseCluster);
  if (analyticsMode === "embedded" && clickhouseUrl !== undefined) {
    problems.set("ANALYTICS", "ANALYTICS and CLICKHOUSE_URL: events are kept either embedded or on the server");
  }
  if (cluster !== undefined && env.CLICKHOUSE_URL === undefined) problems.set("CLUSTER", "CLICKHOUSE_CLUSTER needs CLICKHOUSE_URL");
  const hasAnalytics =
    analyticsMode !== "off" && (analyticsMode === "embedded" || clickhouseUrl !== undefined || env.MONGODB_URL === undefined);
  const analytics: AnalyticsConfig = {
    clickhouseUrl,
    requiresEngine: analyticsMode === "embedded",
    cluster,
    memory: readRequired(variables.analyticsMemory),
    retentionDays: readRequired(variables.analyticsRetentionDays),
    limits: {
      querySeconds: readRequired(variables.analyticsQuerySeconds),
      rowsRead: readRequired(variables.analyticsQueryRows),
      queriesPerHour: readRequired(variables.analyticsQueriesPerHour),
      secondsPerHour: readRequired(variables.analyticsSecondsPerHour),
    },
  };
  const reading = { env, read, readRequired, problems };
  const serviceHost = readRequired(variables.host);
  const publicUrl = read(variables.publicUrl);
  const config: Config = {
    host: serviceHost,
    port: readRequired(variables.port),
    admin: readAdmin(reading, serviceHost),
    shutdownDelay: readRequired(variables.shutdownDelay) * 1_000,
    workers: readWorkers(reading, hasAnalytics && clickhouseUrl === undefined),
    dataDir: readRequired(variables.dataDir),
    mongodbUrl: read(variables.mongodbUrl),
    migrates: readRequired(variables.migrate) === "on",
    tls: readServiceTls(reading),
    logLevel: readRequired(variables.logLevel),
    publicUrl,
    errorsBaseUrl: read(variables.errorsBaseUrl) ?? (publicUrl && `${publicUrl}/docs`),
    docs: readRequired(variables.docs) === "on",
    maxBodyBytes: readRequired(variables.maxBodyBytes),
    cacheMegabytes: readRequired(variables.cacheMegabytes),
    maxInFlight: readRequired(variables.maxInFlight),
    managementRateLimit: read(variables.managementRateLimit),
    ratelimitStoreDown: readRequired(variables.ratelimitStoreDown),
    verifyStoreDown: readRequired(variables.verifyStoreDown),
    encryptionKeys: read(variables.encryptionKeys),
    trustedProxies: read(variables.trustedProxies) ?? [],
    reflection: readRequired(variables.reflection) === "on",
    auditRetentionDays: read(variables.auditRetentionDays),
    analytics: hasAnalytics ? analytics : undefined,
    maxConnectionAge: maxConnectionAge === undefined ? undefined : maxConnectionAge * 1_000,
    console: readConsole(reading, serviceHost),
    tracing: readTracing({ read, readRequired }),
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
