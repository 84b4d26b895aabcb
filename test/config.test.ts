// @same-on-every-engine
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { configVariables, loadConfig, withoutCredentials } from "../src/platform/config/loadConfig.ts";
import { readSecretFiles } from "../src/platform/config/secretFiles.ts";
import { shareOfWorker } from "../src/platform/config/workersVariables.ts";

const problemsOf = (env: Record<string, string>): readonly string[] => {
  const result = loadConfig(env);
  return "problems" in result ? result.problems : [];
};

/** All settings of signing in by OpenID Connect. */
const oidc: Record<string, string> = {
  OIDC_ISSUER: "https://accounts.example.com",
  OIDC_CLIENT_ID: "latchkey",
  OIDC_CLIENT_SECRET: "hunter2",
  OIDC_PERMISSIONS: '{"claim":"groups","permissions":{"platform":["*"]}}',
};

const configOf = (env: Record<string, string>) => {
  const result = loadConfig(env);
  if ("problems" in result) throw new Error(result.problems.join("\n"));
  return result.ok;
};

describe("an empty environment", () => {
  test("gives a complete configuration", () => {
    expect(configOf({})).toEqual({
      host: "127.0.0.1",
      port: 3000,
      admin: { host: "127.0.0.1", port: 9090, profiles: false },
      shutdownDelay: 0,
      workers: 1,
      dataDir: "./data",
      mongodbUrl: undefined,
      migrates: true,
      tls: undefined,
      logLevel: "info",
      errorsBaseUrl: undefined,
      docs: true,
      maxBodyBytes: 10_485_760,
      cacheMegabytes: 256,
      maxInFlight: 10_000,
      managementRateLimit: undefined,
      ratelimitStoreDown: "allow",
      verifyStoreDown: 30_000,
      trustedProxies: [],
      reflection: true,
      auditRetentionDays: undefined,
      analytics: {
        clickhouseUrl: undefined,
        requiresEngine: false,
        cluster: undefined,
        memory: 1_073_741_824,
        retentionDays: 30,
        limits: { querySeconds: 10, rowsRead: 1_000_000_000, queriesPerHour: 1_000, secondsPerHour: 1_800 },
      },
      console: { port: undefined, publicUrl: undefined, idle: 1_800_000, whole: 43_200_000 },
    });
  });

  test("every default passes its own parser", () => {
    const defaults = configVariables.flatMap(({ name, byDefault }) => (byDefault === undefined ? [] : [[name, byDefault] as const]));
    expect(problemsOf(Object.fromEntries(defaults))).toEqual([]);
  });
});

describe("a value that is set", () => {
  test("is taken", () => {
    const config = configOf({
      HOST: "::",
      PORT: "0",
      WORKERS: "4",
      ADMIN_HOST: "localhost",
      ADMIN_PORT: "0",
      SHUTDOWN_DELAY: "5",
      DATA_DIR: "/var/lib/latchkey",
      MONGODB_URL: "mongodb://a:27017,b:27017/db?replicaSet=rs0",
      MIGRATE: "off",
      TLS_CERT: "cert.pem",
      TLS_KEY: "key.pem",
      LOG_LEVEL: "debug",
      ERRORS_BASE_URL: "https://docs.example.com/latchkey/",
      DOCS: "off",
      MAX_BODY_BYTES: "2048",
      CACHE_MB: "64",
      MAX_IN_FLIGHT: "200",
      MANAGEMENT_RATE_LIMIT: "0",
      RATELIMIT_STORE_DOWN: "deny",
      VERIFY_STORE_DOWN: "stale:5",
      TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.7,2001:db8::/32",
      REFLECTION: "off",
      CLICKHOUSE_URL: "https://user:hunter2@clickhouse:8443/events",
      CLICKHOUSE_CLUSTER: "main",
      ANALYTICS_MEMORY: "512MiB",
      AUDIT_RETENTION_DAYS: "36500",
      ANALYTICS_RETENTION_DAYS: "90",
      ANALYTICS_QUERY_SECONDS: "20",
      ANALYTICS_QUERY_ROWS: "5",
      ANALYTICS_QUERIES_PER_HOUR: "6",
      ANALYTICS_SECONDS_PER_HOUR: "7",
      CONSOLE: "on",
      CONSOLE_PORT: "3001",
      PUBLIC_URL: "https://Keys.example.com:443/",
      CONSOLE_IDLE_MINUTES: "5",
      CONSOLE_SESSION_HOURS: "1",
      ...oidc,
    });
    expect(config).toEqual({
      host: "::",
      port: 0,
      admin: { host: "localhost", port: 0, profiles: false },
      shutdownDelay: 5_000,
      workers: 4,
      dataDir: "/var/lib/latchkey",
      mongodbUrl: "mongodb://a:27017,b:27017/db?replicaSet=rs0",
      migrates: false,
      tls: { settings: "TLS", certFile: "cert.pem", keyFile: "key.pem" },
      logLevel: "debug",
      publicUrl: "https://keys.example.com",
      errorsBaseUrl: "https://docs.example.com/latchkey",
      docs: false,
      maxBodyBytes: 2048,
      cacheMegabytes: 64,
      maxInFlight: 200,
      managementRateLimit: 0,
      ratelimitStoreDown: "deny",
      verifyStoreDown: 5_000,
      trustedProxies: ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"],
      reflection: false,
      auditRetentionDays: 36_500,
      analytics: {
        clickhouseUrl: "https://user:hunter2@clickhouse:8443/events",
        requiresEngine: false,
        cluster: "main",
        memory: 536_870_912,
        retentionDays: 90,
        limits: { querySeconds: 20, rowsRead: 5, queriesPerHour: 6, secondsPerHour: 7 },
      },
      console: {
        port: 3_001,
        idle: 300_000,
        whole: 3_600_000,
        oidc: {
          issuer: "https://accounts.example.com",
          clientId: "latchkey",
          clientSecret: expect.objectContaining({ reveal: expect.any(Function) }),
          permissions: { claim: ["groups"], scopes: ["profile", "email"], permissions: new Map([["platform", ["*"]]]) },
        },
      },
    });
  });

  test.each([
    ["127.0.0.1", "auto", true],
    ["127.8.0.1", "auto", true],
    ["localhost", "auto", true],
    ["::1", "auto", true],
    ["0.0.0.0", "auto", false],
    ["::", "auto", false],
    ["keys.internal", "auto", false],
    ["0.0.0.0", "on", true],
    ["127.0.0.1", "off", false],
  ])("[console §1] listening on %s with CONSOLE=%s there is a console: %s", (HOST, CONSOLE, isOn) => {
    expect(configOf({ HOST, CONSOLE }).console !== undefined).toBe(isOn);
  });

  test.each([
    [{}, undefined],
    [{ PUBLIC_URL: "https://keys.example.com" }, "https://keys.example.com/docs"],
    [{ PUBLIC_URL: "https://keys.example.com", CONSOLE: "off" }, "https://keys.example.com/docs"],
    [{ PUBLIC_URL: "https://keys.example.com", ERRORS_BASE_URL: "https://docs.example" }, "https://docs.example"],
  ])("[protocol §5] with %j the links in errors start with %s", (env, errorsBaseUrl) => {
    expect(configOf(env).errorsBaseUrl).toBe(errorsBaseUrl);
  });

  test("the admin port listens on the host of the service by default", () => {
    expect(configOf({ HOST: "0.0.0.0" }).admin.host).toBe("0.0.0.0");
  });
});

describe("a malformed value is refused, never replaced by the default", () => {
  test.each([
    ["PORT", "abc"],
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "3000.5"],
    ["PORT", "0x10"],
    ["PORT", ""],
    ["PORT", " 3000"],
    ["HOST", "127.0.0.1:3000"],
    ["HOST", "a b"],
    ["HOST", " "],
    ["DATA_DIR", ""],
    ["MONGODB_URL", ""],
    ["MONGODB_URL", "postgres://localhost/db"],
    ["MONGODB_URL", "mongodb://"],
    ["MONGODB_URL", "mongodb://user:pa/ss@host/db"],
    ["LOG_LEVEL", "verbose"],
    ["LOG_LEVEL", "INFO"],
    ["ERRORS_BASE_URL", "docs"],
    ["ERRORS_BASE_URL", "ftp://example.com"],
    ["ERRORS_BASE_URL", "https://example.com/?a=b"],
    ["ERRORS_BASE_URL", "https://user:secret@example.com"],
    ["MAX_BODY_BYTES", "10MB"],
    ["MAX_BODY_BYTES", "0"],
    ["MANAGEMENT_RATE_LIMIT", "none"],
    ["RATELIMIT_STORE_DOWN", "maybe"],
    ["VERIFY_STORE_DOWN", "stale"],
    ["VERIFY_STORE_DOWN", "stale:0"],
    ["VERIFY_STORE_DOWN", "stale:86401"],
    ["VERIFY_STORE_DOWN", "stale:1.5"],
    ["VERIFY_STORE_DOWN", "allow"],
    ["REFLECTION", "no"],
    ["WORKERS", "0"],
    ["WORKERS", "65"],
    ["WORKERS", "all"],
    ["MIGRATE", "no"],
    ["CONSOLE", "yes"],
    ["CONSOLE_PORT", "70000"],
    ["PUBLIC_URL", "keys.example.com"],
    ["PUBLIC_URL", "https://keys.example.com/ui"],
    ["PUBLIC_URL", "https://user:secret@keys.example.com"],
    ["PUBLIC_URL", "ftp://keys.example.com"],
    ["CONSOLE_IDLE_MINUTES", "0"],
    ["CONSOLE_SESSION_HOURS", "1.5"],
    ["OIDC_ISSUER", "http://accounts.example.com"],
    ["OIDC_ISSUER", "accounts.example.com"],
    ["OIDC_ISSUER", "https://user:secret@accounts.example.com"],
    ["OIDC_ISSUER", "https://accounts.example.com/?tenant=1"],
    ["OIDC_CLIENT_ID", ""],
    ["OIDC_CLIENT_SECRET", " "],
    ["OIDC_PERMISSIONS", "{"],
    ["OIDC_PERMISSIONS", '{"claim":"groups"}'],
    ["OIDC_PERMISSIONS", '{"claim":"groups","permissions":{}}'],
    ["OIDC_PERMISSIONS", '{"claim":"groups","permissions":{"a":[]}}'],
    ["OIDC_PERMISSIONS", '{"claim":"groups","permissions":{"a":["*"]},"else":1}'],
    ["OIDC_PERMISSIONS", '{"claim":[],"permissions":{"a":["*"]}}'],
    ["OIDC_PERMISSIONS", '{"claim":"groups","scopes":["a b"],"permissions":{"a":["*"]}}'],
    ["TRUSTED_PROXIES", "10.0.0.0/33"],
    ["TRUSTED_PROXIES", "2001:db8::/129"],
    ["TRUSTED_PROXIES", "10.0.0.0/8,"],
    ["TRUSTED_PROXIES", "10.0.0.0/8/8"],
    ["TRUSTED_PROXIES", "proxy.internal"],
    ["ANALYTICS", "on"],
    ["ANALYTICS_MEMORY", "1GB"],
    ["ANALYTICS_MEMORY", "1MiB"],
    ["AUDIT_RETENTION_DAYS", "0"],
    ["AUDIT_RETENTION_DAYS", "36501"],
    ["AUDIT_RETENTION_DAYS", "-1"],
    ["AUDIT_RETENTION_DAYS", "1.5"],
    ["ANALYTICS_RETENTION_DAYS", "0"],
    ["ANALYTICS_QUERY_SECONDS", "61"],
    ["ANALYTICS_QUERY_ROWS", "0"],
    ["CLICKHOUSE_URL", "clickhouse:8123"],
    ["CLICKHOUSE_URL", "http://clickhouse:8123/?database=x"],
    ["CLICKHOUSE_URL", "http://clickhouse:8123/a/b"],
    ["CLICKHOUSE_URL", "http://clickhouse:8123/a-b"],
  ])("%s=%j", (name, value) => {
    const problems = problemsOf({ ...(name.startsWith("OIDC") ? oidc : {}), [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name}: `));
  });
});

describe("a setting that was removed", () => {
  test.each(["logs", "Logs", ""])("RATELIMIT_COUNTERS=%j is refused, and the sentence says what to do", (value) => {
    expect(problemsOf({ RATELIMIT_COUNTERS: value })).toEqual([
      "RATELIMIT_COUNTERS was removed, because rate limits are counted by the store, or by the server of COUNTERS_URL: unset it",
    ]);
  });

  test("RATELIMIT_COUNTERS=documents, the former default, changes nothing", () => {
    expect(configOf({ RATELIMIT_COUNTERS: "documents" })).toEqual(configOf({}));
  });
});

describe("problems across variables", () => {
  test.each([
    [{ ADMIN_TLS_CERT: "cert.pem" }, "ADMIN_TLS_CERT and ADMIN_TLS_KEY: set both or neither"],
    [{ TLS_CLIENT_CA: "ca.pem" }, "TLS_CLIENT_CA needs TLS_CERT and TLS_KEY: clients can show certificates over TLS only"],
    [
      { ADMIN_TLS_CLIENT_CA: "ca.pem", TLS_CERT: "cert.pem", TLS_KEY: "key.pem" },
      "ADMIN_TLS_CLIENT_CA needs ADMIN_TLS_CERT and ADMIN_TLS_KEY: clients can show certificates over TLS only",
    ],
    [
      { TLS_CERT: "cert.pem", TLS_KEY: "key.pem", TLS_CLIENT_ALLOWED_SANS: "DNS:a.example.com" },
      "TLS_CLIENT_ALLOWED_SANS needs TLS_CLIENT_CA, the authorities whose certificates count",
    ],
    [
      { HOST: "0.0.0.0", PROFILES: "on" },
      "PROFILES=on lets everybody who reaches 0.0.0.0 take profiles: set ADMIN_TOKEN, ADMIN_TOKEN_FILE or ADMIN_TLS_CLIENT_CA, or ADMIN_HOST to a loopback address",
    ],
  ])("%j does not go together", (env, problem) => {
    expect(problemsOf(env)).toEqual([problem]);
  });

  test.each([
    [{ PROFILES: "on" }],
    [{ PROFILES: "on", HOST: "0.0.0.0", ADMIN_HOST: "127.0.0.1" }],
    [{ PROFILES: "on", HOST: "0.0.0.0", ADMIN_TOKEN: "a".repeat(16) }],
    [{ PROFILES: "on", HOST: "::", ADMIN_TLS_CERT: "a", ADMIN_TLS_KEY: "b", ADMIN_TLS_CLIENT_CA: "c" }],
  ])("%j goes together", (env) => {
    expect(configOf(env).admin.profiles).toBe(true);
  });

  test("an admin token is not repeated, and prints as ***", () => {
    const { admin } = configOf({ ADMIN_TOKEN: "hunter2hunter2hunter2" });
    expect(admin.token?.reveal()).toBe("hunter2hunter2hunter2");
    expect(inspect(admin) + JSON.stringify(admin)).not.toContain("hunter2");
    for (const ADMIN_TOKEN of ["hunter2", "hunter2 hunter2 hunter2", "hunter2".repeat(74), "hunter2hunter2hunter2ü"])
      expect(problemsOf({ ADMIN_TOKEN })).toEqual([expect.stringMatching(/^ADMIN_TOKEN: its value is not a token of 16 to 512 letters/)]);
  });

  test("names of clients are listed with their kinds", () => {
    const tls = { TLS_CERT: "cert.pem", TLS_KEY: "key.pem", TLS_CLIENT_CA: "ca.pem" };
    expect(configOf({ ...tls, TLS_CLIENT_ALLOWED_SANS: "DNS:*.Example.com, URI:spiffe://a/b" }).tls).toEqual({
      settings: "TLS",
      certFile: "cert.pem",
      keyFile: "key.pem",
      clientCaFile: "ca.pem",
      allowedNames: [
        { kind: "DNS", value: "*.example.com" },
        { kind: "URI", value: "spiffe://a/b" },
      ],
    });
    for (const names of ["a.example.com", "DNS:a.example.com,", "DNS:a.*.com"])
      expect(problemsOf({ ...tls, TLS_CLIENT_ALLOWED_SANS: names })).toEqual([
        expect.stringMatching(/^TLS_CLIENT_ALLOWED_SANS: ".*" is not names such as DNS:billing\.example\.com, /),
      ]);
  });

  test.each([[{ TLS_CERT: "cert.pem" }], [{ TLS_KEY: "key.pem" }]])("TLS needs certificate and key: %j", (env) => {
    expect(problemsOf(env)).toEqual(["TLS_CERT and TLS_KEY: set both or neither"]);
  });

  test.each(["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_PERMISSIONS"])(
    "[console §2.8] OpenID Connect needs all of its settings: without %s",
    (name) => {
      const { [name]: _left, ...rest } = oidc;
      const all = "OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_PERMISSIONS: set all of them or none";
      expect(problemsOf(rest)).toEqual([`${all}, ${name} is missing`]);
    },
  );

  test("[console §2.8] its secret is in a file or in the environment, and prints as ***", async () => {
    const { OIDC_CLIENT_SECRET: clientSecret, ...rest } = oidc;
    const directory = await mkdtemp(join(tmpdir(), "latchkey-oidc-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    const readFrom = (OIDC_CLIENT_SECRET_FILE: string, env = rest) => readSecretFiles({ ...env, OIDC_CLIENT_SECRET_FILE });
    const { env } = readFrom(await file("secret", "hunter2\n"));
    expect(configOf(env as Record<string, string>).console?.oidc?.clientSecret.reveal()).toBe("hunter2");
    expect(readFrom("x", oidc).problems).toEqual([expect.stringMatching(/^OIDC_CLIENT_SECRET and OIDC_CLIENT_SECRET_FILE: /)]);
    const missing = readFrom(join(directory, "missing"));
    expect(missing.problems).toEqual([expect.stringMatching(/^OIDC_CLIENT_SECRET_FILE: .*missing" cannot be read/)]);
    expect(problemsOf(missing.env as Record<string, string>)).toEqual([]);
    expect(readFrom(await file("empty", " \n")).problems).toEqual([expect.stringMatching(/^OIDC_CLIENT_SECRET_FILE: .*is empty/)]);
    const config = configOf(oidc);
    for (const text of [JSON.stringify(config), inspect(config, { depth: 9 })]) {
      expect(text).toContain("***");
      expect(text).not.toContain(clientSecret);
    }
  });

  test("[console §2.8] it maps to permissions by name only", () => {
    const mapping = { claim: "groups", permissions: { support: ["api.*.read_key", "api.*.fly"] } };
    expect(problemsOf({ ...oidc, OIDC_PERMISSIONS: JSON.stringify(mapping) })).toEqual([
      'OIDC_PERMISSIONS: its value is not a mapping of people to permissions: "permissions" gives "support" the unknown permission "api.*.fly"',
    ]);
    expect(configOf({ ...oidc, OIDC_PERMISSIONS: "/etc/latchkey/people.json" }).console?.oidc?.permissions).toEqual({
      file: "/etc/latchkey/people.json",
    });
  });

  test("[console §2.8] it needs a console, and an address to come back to", () => {
    expect(problemsOf({ ...oidc, HOST: "0.0.0.0" })).toEqual([expect.stringMatching(/^OIDC_ISSUER: .* set CONSOLE=on$/)]);
    expect(problemsOf({ ...oidc, HOST: "0.0.0.0", CONSOLE: "on" })).toEqual([expect.stringMatching(/^OIDC_ISSUER needs PUBLIC_URL/)]);
    expect(problemsOf({ ...oidc, HOST: "0.0.0.0", CONSOLE: "on", PUBLIC_URL: "https://keys.example.com" })).toEqual([]);
    expect(problemsOf(oidc)).toEqual([]);
  });

  test("the two ports differ", () => {
    expect(problemsOf({ PORT: "8080", ADMIN_PORT: "8080" })).toEqual([expect.stringMatching(/^PORT and ADMIN_PORT: both are 8080/)]);
    expect(problemsOf({ PORT: "9090" })).toHaveLength(1);
    expect(problemsOf({ PORT: "0", ADMIN_PORT: "0" })).toEqual([]);
  });
});

describe("workers", () => {
  const mongo = { MONGODB_URL: "mongodb://a" };

  test("are the configured number, or the number of cores, up to 16", () => {
    expect(configOf({ ...mongo, WORKERS: "64" }).workers).toBe(64);
    expect(configOf({ ...mongo, WORKERS: "auto" }).workers).toBe(Math.min(availableParallelism(), 16));
  });

  test("need MongoDB: on the embedded store auto is one process, and a larger number is refused with a sentence that names the fix", () => {
    expect(configOf({ WORKERS: "auto" }).workers).toBe(1);
    expect(configOf({ WORKERS: "1" }).workers).toBe(1);
    const sentence = "WORKERS: the embedded store serves one process only: set MONGODB_URL, or WORKERS=1";
    for (const analytics of [{}, { ANALYTICS: "embedded" }, { ANALYTICS: "off" }, { CLICKHOUSE_URL: "http://clickhouse:8123" }])
      expect(problemsOf({ ...analytics, WORKERS: "2" })).toEqual([sentence]);
  });

  test("need no embedded analytics engine; the message names the settings and the fix", () => {
    const sentence =
      "ANALYTICS and WORKERS: the embedded analytics engine serves one process only: set CLICKHOUSE_URL, or ANALYTICS=off, or WORKERS=1";
    expect(problemsOf({ ...mongo, WORKERS: "2", ANALYTICS: "embedded" })).toEqual([sentence]);
    expect(problemsOf({ ...mongo, WORKERS: "2" })).toEqual([]);
    expect(problemsOf({ ...mongo, WORKERS: "2", CLICKHOUSE_URL: "http://clickhouse:8123" })).toEqual([]);
  });

  test("divide the memory for caches and the calls in progress; all else is of the service or of each", () => {
    const config = configOf({ ...mongo, WORKERS: "3", CACHE_MB: "16", MAX_IN_FLIGHT: "100" });
    expect(shareOfWorker(config)).toEqual({ ...config, cacheMegabytes: 16 / 3, maxInFlight: 34 });
  });
});

describe("where events are kept", () => {
  test("embedded, unless the state is in MongoDB", () => {
    expect(configOf({}).analytics).toMatchObject({ clickhouseUrl: undefined });
    expect(configOf({ MONGODB_URL: "mongodb://a" }).analytics).toBeUndefined();
    expect(configOf({ MONGODB_URL: "mongodb://a", ANALYTICS: "embedded" }).analytics).toMatchObject({ clickhouseUrl: undefined });
  });

  test("on the server of CLICKHOUSE_URL, whatever the state is in", () => {
    for (const env of [{}, { MONGODB_URL: "mongodb://a" }]) {
      expect(configOf({ ...env, CLICKHOUSE_URL: "http://b:8123" }).analytics).toMatchObject({ clickhouseUrl: "http://b:8123" });
    }
  });

  test("nowhere when analytics is off", () => {
    for (const env of [{}, { CLICKHOUSE_URL: "http://b:8123" }]) expect(configOf({ ...env, ANALYTICS: "off" }).analytics).toBeUndefined();
  });

  test("the embedded engine is required only where it is asked for", () => {
    expect(configOf({}).analytics?.requiresEngine).toBe(false);
    for (const env of [{}, { MONGODB_URL: "mongodb://a" }])
      expect(configOf({ ...env, ANALYTICS: "embedded" }).analytics?.requiresEngine).toBe(true);
  });

  test("in one place only, and a cluster is that of a server", () => {
    expect(problemsOf({ ANALYTICS: "embedded", CLICKHOUSE_URL: "http://b:8123" })).toEqual([expect.stringMatching(/^ANALYTICS and CLICK/)]);
    expect(problemsOf({ CLICKHOUSE_CLUSTER: "main" })).toEqual([expect.stringMatching(/^CLICKHOUSE_CLUSTER needs/)]);
  });
});

describe("traces", () => {
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };

  test("go nowhere without a collector, whatever else is set", () => {
    expect(configOf({ OTEL_TRACES_SAMPLER: "always_on", OTEL_EXPORTER_OTLP_HEADERS: "a=b" }).tracing).toBeUndefined();
    // A platform sets these for all of its programs, in forms that this one does not support.
    const others = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_TRACES_SAMPLER: "jaeger_remote", OTEL_RESOURCE_ATTRIBUTES: "a=b," };
    expect(configOf(others).tracing).toBeUndefined();
  });

  test("go to the collector's address for traces, one call in a hundred unless callers say otherwise", () => {
    expect(configOf(collector).tracing).toEqual({
      url: "http://collector:4318/v1/traces",
      headers: {},
      sampler: "parentbased_traceidratio",
      ratio: 0.01,
      serviceName: undefined,
      attributes: {},
    });
  });

  test("have what OpenTelemetry's own variables say", () => {
    const { tracing } = configOf({
      ...collector,
      OTEL_EXPORTER_OTLP_HEADERS: " authorization = Basic%20aHVudGVyMg== ,x-tenant=a%2Cb",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      OTEL_SERVICE_NAME: "keys",
      OTEL_RESOURCE_ATTRIBUTES: "team=identity%20%26%20access,k8s.pod.name=",
      OTEL_TRACES_SAMPLER: "traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.5",
    });
    expect(tracing).toMatchObject({ serviceName: "keys", sampler: "traceidratio", ratio: 0.5 });
    expect(tracing?.attributes).toEqual({ team: "identity & access", "k8s.pod.name": "" });
    const headers = Object.entries(tracing?.headers ?? {}).map(([name, value]) => [name, value.reveal()]);
    expect(headers).toEqual([
      ["authorization", "Basic aHVudGVyMg=="],
      ["x-tenant", "a,b"],
    ]);
    expect(inspect(tracing)).not.toContain("aHVudGVyMg");
  });

  test.each([
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@collector"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "hunter2"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a b=hunter2"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2%0D%0Ab: c"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=%zzhunter2"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_RESOURCE_ATTRIBUTES", "team"],
    ["OTEL_RESOURCE_ATTRIBUTES", "=identity"],
    ["OTEL_RESOURCE_ATTRIBUTES", "team=%E0%A4%A"],
    ["OTEL_TRACES_SAMPLER", "xray"],
    ["OTEL_TRACES_SAMPLER_ARG", "2"],
    ["OTEL_TRACES_SAMPLER_ARG", "-0.1"],
    ["OTEL_TRACES_SAMPLER_ARG", "1%"],
    ["OTEL_TRACES_SAMPLER_ARG", "0.01.2"],
    ["OTEL_SERVICE_NAME", " "],
  ])("%s is not taken as %j", (name, value) => {
    const problems = problemsOf({ ...collector, [name]: value });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: .* is not `))]);
    expect(problems.join()).not.toContain("hunter2");
  });
});

test("all problems are reported at once", () => {
  const problems = problemsOf({ PORT: "abc", ADMIN_PORT: "3000", LOG_LEVEL: "loud", TLS_CERT: "cert.pem", MAX_BODY_BYTES: "-1" });
  expect(problems.map((problem) => problem.split(":")[0]).sort()).toEqual(["LOG_LEVEL", "MAX_BODY_BYTES", "PORT", "TLS_CERT and TLS_KEY"]);
});

test("no problem repeats a password", () => {
  for (const value of ["mongodb://user:hunter2@", "http://user:hunter2@host", "mongodb://user:hun/ter2@host"]) {
    expect(problemsOf({ MONGODB_URL: value, CLICKHOUSE_URL: `${value}?x`, ERRORS_BASE_URL: value }).join()).not.toMatch(/hun/);
  }
});

test.each([
  ["mongodb://user:hunter2@a:27017,b/db?replicaSet=rs0", "mongodb://a:27017,b/db"],
  ["mongodb+srv://user:hunter2@host", "mongodb+srv://host"],
  ["mongodb://user:p@ss@host/db?tlsCertificateKeyFilePassword=hunter2", "mongodb://host/db"],
  ["mongodb://host", "mongodb://host"],
])("%s is printed as %s", (url, printed) => {
  expect(withoutCredentials(url)).toBe(printed);
});

describe("the server that counts rate limits", () => {
  test("is the one of COUNTERS_URL, with its certificates", () => {
    const files = { COUNTERS_TLS_CA: "ca.pem", COUNTERS_TLS_CERT: "cert.pem", COUNTERS_TLS_KEY: "key.pem" };
    expect(configOf({}).counters).toBeUndefined();
    expect(configOf({ COUNTERS_URL: "redis://valkey" }).counters).toMatchObject({ address: { isTls: false }, tls: undefined });
    expect(configOf({ COUNTERS_URL: "rediss://valkey", ...files }).counters?.tls).toEqual({
      caFile: "ca.pem",
      certFile: "cert.pem",
      keyFile: "key.pem",
    });
  });

  test("is refused with a URL that is not one, which is not repeated, and with certificates that nothing uses", () => {
    const [problem = ""] = problemsOf({ COUNTERS_URL: "http://:hunter2@valkey" });
    expect(problem).toContain("COUNTERS_URL: its value is not redis[s]://[user:password@]host[:port][/database]");
    expect(problem).not.toContain("hunter2");
    expect(problemsOf({ COUNTERS_URL: "rediss://valkey", COUNTERS_TLS_CERT: "cert.pem" })).toEqual([
      "COUNTERS_TLS_CERT and COUNTERS_TLS_KEY: set both or neither",
    ]);
    expect(problemsOf({ COUNTERS_URL: "redis://valkey", COUNTERS_TLS_CA: "ca.pem" })).toEqual([
      "COUNTERS_TLS_CA needs a COUNTERS_URL that starts with rediss: only TLS has certificates",
    ]);
  });
});
