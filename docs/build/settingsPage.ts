import { configVariables, loadConfig } from "../../src/platform/config/loadConfig.ts";
import { code, fence, page, table } from "./markdown.ts";

interface Section {
  readonly title: string;
  /** Where to read more, as Markdown. */
  readonly intro: string;
  /** Variables, in the order of the table. */
  readonly names: readonly string[];
}

/** Every setting, under the purpose that it serves. Links start from `docs/reference`. */
const sections: readonly Section[] = [
  {
    title: "Addresses",
    intro: "Where the service listens, and which proxies it trusts. See [Deployment](../deployment.md).",
    names: ["HOST", "PORT", "SHUTDOWN_DELAY", "TRUSTED_PROXIES", "WORKERS", "REFLECTION", "MAX_CONNECTION_AGE"],
  },
  {
    title: "TLS",
    intro: "See [Deployment](../deployment.md#tls).",
    names: ["TLS_CERT", "TLS_KEY", "TLS_CLIENT_CA", "TLS_CLIENT_ALLOWED_SANS"],
  },
  {
    title: "Admin port",
    intro: "Metrics, probes and profiles. See [Operations](../operations.md#protect-the-admin-port).",
    names: [
      ...["ADMIN_HOST", "ADMIN_PORT", "ADMIN_TOKEN", "ADMIN_TOKEN_FILE", "ADMIN_TLS_CERT", "ADMIN_TLS_KEY"],
      ...["ADMIN_TLS_CLIENT_CA", "ADMIN_TLS_CLIENT_ALLOWED_SANS", "PROFILES"],
    ],
  },
  {
    title: "Storage",
    intro:
      "Without `MONGODB_URL` the state is in a file below `DATA_DIR`. See [Deployment](../deployment.md), [Backup](../backup.md) and [Upgrading](../upgrading.md#several-nodes-mongodb).",
    names: ["DATA_DIR", "MONGODB_URL", "MONGODB_URL_FILE", "MIGRATE", "CACHE_MB"],
  },
  {
    title: "Rate limits on Valkey or Redis",
    intro: "See [Valkey](../valkey.md).",
    names: ["COUNTERS_URL", "COUNTERS_URL_FILE", "COUNTERS_TLS_CA", "COUNTERS_TLS_CERT", "COUNTERS_TLS_KEY"],
  },
  {
    title: "When the store is down",
    intro: "See [Failures](../failures.md#the-store-is-down).",
    names: ["VERIFY_STORE_DOWN", "RATELIMIT_STORE_DOWN"],
  },
  {
    title: "Limits",
    intro: "How much callers may use. See [Failures](../failures.md#too-many-calls).",
    names: ["MAX_BODY_BYTES", "MAX_IN_FLIGHT", "MANAGEMENT_RATE_LIMIT"],
  },
  {
    title: "Secrets and audit",
    intro: "See [Security](../security.md#recoverable-keys) and [Audit log](../audit-log.md#retention).",
    names: ["ENCRYPTION_KEYS", "ENCRYPTION_KEYS_FILE", "AUDIT_RETENTION_DAYS"],
  },
  {
    title: "Logs, errors and documentation",
    intro: "See [Operations](../operations.md#logs).",
    names: ["LOG_LEVEL", "ERRORS_BASE_URL", "DOCS"],
  },
  {
    title: "Traces",
    intro: "The names and values are those of OpenTelemetry. See [Tracing](../tracing.md).",
    names: configVariables.map(({ name }) => name).filter((name) => name.startsWith("OTEL_")),
  },
  {
    title: "Analytics",
    intro: "See [Analytics](../analytics.md#set-up-analytics).",
    names: [
      ...["ANALYTICS", "CLICKHOUSE_URL", "CLICKHOUSE_URL_FILE", "CLICKHOUSE_CLUSTER", "ANALYTICS_MEMORY", "ANALYTICS_RETENTION_DAYS"],
      ...["ANALYTICS_QUERY_SECONDS", "ANALYTICS_QUERY_ROWS", "ANALYTICS_QUERIES_PER_HOUR", "ANALYTICS_SECONDS_PER_HOUR"],
    ],
  },
  {
    title: "Console",
    intro:
      "See [Console](../console.md#open-it-to-other-machines), and for `OIDC_…` [Sign in with your identity provider](../console.md#sign-in-with-your-identity-provider).",
    names: [
      ...["CONSOLE", "CONSOLE_PORT", "PUBLIC_URL", "CONSOLE_IDLE_MINUTES", "CONSOLE_SESSION_HOURS", "OIDC_ISSUER", "OIDC_CLIENT_ID"],
      ...["OIDC_CLIENT_SECRET", "OIDC_CLIENT_SECRET_FILE", "OIDC_PERMISSIONS"],
    ],
  },
];

/** What a setting accepts, in the words by which its parser refuses a malformed value. */
const accepted = (name: string): string => {
  const result = loadConfig({ [name]: "\u0000" });
  const problem = "problems" in result ? result.problems.find((text) => text.startsWith(`${name}: `)) : undefined;
  return /is not (.*)$/s.exec(problem ?? "")?.[1] ?? "any text";
};

const rowOf = (name: string): string[] => {
  const variable = configVariables.find((each) => each.name === name);
  if (variable === undefined) throw new Error(`docs/build/settingsPage.ts lists ${name}, which is not a setting`);
  return [code(name), variable.byDefault === undefined ? "unset" : code(variable.byDefault), accepted(name), variable.description];
};

/** The page of all settings. Throws when a setting is in no section. */
export const settingsPage = (): string => {
  const listed = sections.flatMap(({ names }) => names);
  const missing = configVariables.filter(({ name }) => !listed.includes(name));
  if (missing.length > 0) throw new Error(`docs/build/settingsPage.ts has no section for ${missing.map(({ name }) => name).join(", ")}`);
  return page([
    "# Settings",
    "Every setting of the service, by purpose. Environment variables are the only configuration.",
    fence("sh", "latchkey doctor"),
    "`doctor` checks the settings, the store, analytics and the certificate without starting the service. Settings are read once at start. A malformed or empty value ends the start with exit code 2 and a list of all problems; it is never replaced by the default. The log names a variable that looks like a setting but is not one. `latchkey help` prints this list.",
    "## Which do I need?",
    table(
      ["You run", "Set"],
      [
        ["a trial on a laptop", "nothing"],
        ["one server on the internet", "`HOST`, `TLS_CERT` and `TLS_KEY`, or `TRUSTED_PROXIES` behind a proxy; `ADMIN_HOST`"],
        ["several nodes", "also `MONGODB_URL`, and `CLICKHOUSE_URL` for analytics"],
        ["the console for your team", "also `CONSOLE=on` and `PUBLIC_URL`; `OIDC_…` to sign in with your identity provider"],
        ["keys that can be shown again", "also `ENCRYPTION_KEYS`"],
      ],
    ),
    ...sections.flatMap(({ title, intro, names }) => [
      `## ${title}`,
      intro,
      table(["Variable", "Default", "Accepts", "Meaning"], names.map(rowOf)),
    ]),
  ]);
};
