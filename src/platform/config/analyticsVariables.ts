import { bytes, identifier, integer, oneOf, type Reading, serverUrl, type Variables } from "./parsers.ts";

/** The embedded engine under `dataDir`, or a ClickHouse server or cluster. */
export interface AnalyticsConfig {
  /** May hold a password. Absent = the embedded engine. */
  readonly clickhouseUrl: string | undefined;
  /** ANALYTICS=embedded asks for the embedded engine: the service does not start without it. */
  readonly requiresEngine: boolean;
  /** Name of the cluster whose replicas hold the tables. */
  readonly cluster: string | undefined;
  /** Bytes that the embedded engine may use. */
  readonly memory: number;
  readonly retentionDays: number;
  readonly limits: {
    readonly querySeconds: number;
    readonly rowsRead: number;
    readonly queriesPerHour: number;
    readonly secondsPerHour: number;
  };
}

const variables = {
  ANALYTICS: {
    description:
      "`embedded` runs the embedded engine even with `MONGODB_URL`, for a single node, and does not start without the optional package `chdb`; `off` keeps no events. When unset, `CLICKHOUSE_URL` is used if set; otherwise the embedded engine runs if `chdb` is installed, unless `MONGODB_URL` is set.",
    parse: oneOf(["embedded", "off"] as const),
  },
  ANALYTICS_MEMORY: { byDefault: "1GiB", description: "Maximum memory of the embedded analytics engine.", parse: bytes(256 * 1024 ** 2) },
  ANALYTICS_RETENTION_DAYS: { byDefault: "30", description: "Days of history that analytics queries can see.", parse: integer(1, 1_095) },
  ANALYTICS_QUERY_SECONDS: { byDefault: "10", description: "Maximum run time of one analytics query, in seconds.", parse: integer(1, 50) },
  ANALYTICS_QUERY_ROWS: {
    byDefault: "1000000000",
    description: "Maximum number of rows that one analytics query may read.",
    parse: integer(1, 1_000_000_000_000),
  },
  ANALYTICS_QUERIES_PER_HOUR: {
    byDefault: "1000",
    description: "Maximum number of analytics queries per hour, for all root keys and nodes together.",
    parse: integer(1, 1_000_000_000),
  },
  ANALYTICS_SECONDS_PER_HOUR: {
    byDefault: "1800",
    description: "Maximum total run time of analytics queries per hour, in seconds.",
    parse: integer(1, 1_000_000),
  },
  CLICKHOUSE_URL: {
    description:
      "ClickHouse server for analytics, over HTTP: `http[s]://[user:password@]host[:port][/database]`, database `latchkey` unless named. For a cluster, name one replica, or a load balancer that sticks to one; otherwise `analytics.tail` may miss events.",
    parse: serverUrl,
    isSecret: true,
  },
  CLICKHOUSE_CLUSTER: {
    description: "ClickHouse cluster on whose replicas the tables are created, as `ReplicatedMergeTree`.",
    parse: identifier,
  },
} as const satisfies Variables;

/** Variables of the analytics store. */
export const analyticsVariables: Variables = variables;

/** Undefined where there is none. */
export const readAnalytics = ({ env, read, problems }: Reading): AnalyticsConfig | undefined => {
  const mode = read(variables, "ANALYTICS");
  const clickhouseUrl = read(variables, "CLICKHOUSE_URL");
  const cluster = read(variables, "CLICKHOUSE_CLUSTER");
  if (mode === "embedded" && clickhouseUrl !== undefined) {
    problems.set("ANALYTICS", "ANALYTICS and CLICKHOUSE_URL: events are kept either embedded or on the server");
  }
  if (cluster !== undefined && env.CLICKHOUSE_URL === undefined) problems.set("CLUSTER", "CLICKHOUSE_CLUSTER needs CLICKHOUSE_URL");
  const config: AnalyticsConfig = {
    clickhouseUrl,
    requiresEngine: mode === "embedded",
    cluster,
    memory: read(variables, "ANALYTICS_MEMORY"),
    retentionDays: read(variables, "ANALYTICS_RETENTION_DAYS"),
    limits: {
      querySeconds: read(variables, "ANALYTICS_QUERY_SECONDS"),
      rowsRead: read(variables, "ANALYTICS_QUERY_ROWS"),
      queriesPerHour: read(variables, "ANALYTICS_QUERIES_PER_HOUR"),
      secondsPerHour: read(variables, "ANALYTICS_SECONDS_PER_HOUR"),
    },
  };
  const isWanted = mode === "embedded" || clickhouseUrl !== undefined || env.MONGODB_URL === undefined;
  return mode !== "off" && isWanted ? config : undefined;
};
