import { bytes, identifier, integer, oneOf, serverUrl, type Variable, type WithDefault } from "./parsers.ts";

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

interface AnalyticsVariables {
  readonly analytics: Variable<"embedded" | "off">;
  readonly analyticsMemory: WithDefault<number>;
  readonly analyticsRetentionDays: WithDefault<number>;
  readonly analyticsQuerySeconds: WithDefault<number>;
  readonly analyticsQueryRows: WithDefault<number>;
  readonly analyticsQueriesPerHour: WithDefault<number>;
  readonly analyticsSecondsPerHour: WithDefault<number>;
  readonly clickhouseUrl: Variable<string>;
  readonly clickhouseCluster: Variable<string>;
}

/** Variables of the analytics store, a part of the one table. */
export const analyticsVariables: AnalyticsVariables = {
  analytics: {
    name: "ANALYTICS",
    byDefault: undefined,
    description:
      "`embedded` runs the embedded engine even with `MONGODB_URL`, for a single node, and does not start without the optional package `chdb`; `off` keeps no events. When unset, `CLICKHOUSE_URL` is used if set; otherwise the embedded engine runs if `chdb` is installed, unless `MONGODB_URL` is set.",
    parse: oneOf(["embedded", "off"] as const),
  },
  analyticsMemory: {
    name: "ANALYTICS_MEMORY",
    byDefault: "1GiB",
    description: "Maximum memory of the embedded analytics engine.",
    parse: bytes(256 * 1024 ** 2),
  },
  analyticsRetentionDays: {
    name: "ANALYTICS_RETENTION_DAYS",
    byDefault: "30",
    description: "Days of history that analytics queries can see.",
    parse: integer(1, 1_095),
  },
  analyticsQuerySeconds: {
    name: "ANALYTICS_QUERY_SECONDS",
    byDefault: "10",
    description: "Maximum run time of one analytics query, in seconds.",
    parse: integer(1, 50),
  },
  analyticsQueryRows: {
    name: "ANALYTICS_QUERY_ROWS",
    byDefault: "1000000000",
    description: "Maximum number of rows that one analytics query may read.",
    parse: integer(1, 1_000_000_000_000),
  },
  analyticsQueriesPerHour: {
    name: "ANALYTICS_QUERIES_PER_HOUR",
    byDefault: "1000",
    description: "Maximum number of analytics queries per hour, for all root keys and nodes together.",
    parse: integer(1, 1_000_000_000),
  },
  analyticsSecondsPerHour: {
    name: "ANALYTICS_SECONDS_PER_HOUR",
    byDefault: "1800",
    description: "Maximum total run time of analytics queries per hour, in seconds.",
    parse: integer(1, 1_000_000),
  },
  clickhouseUrl: {
    name: "CLICKHOUSE_URL",
    byDefault: undefined,
    description:
      "ClickHouse server for analytics, over HTTP: `http[s]://[user:password@]host[:port][/database]`, database `latchkey` unless named. For a cluster, name one replica, or a load balancer that sticks to one; otherwise `analytics.tail` may miss events.",
    parse: serverUrl,
  },
  clickhouseCluster: {
    name: "CLICKHOUSE_CLUSTER",
    byDefault: undefined,
    description: "ClickHouse cluster on whose replicas the tables are created, as `ReplicatedMergeTree`.",
    parse: identifier,
  },
};
