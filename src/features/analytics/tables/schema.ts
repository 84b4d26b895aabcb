/** The tables of events, as ClickHouse knows them (analytics §§4, 5). */

/** Steps of the aggregates: name in the table's name, type of `time`, and how it follows from Unix ms. */
const steps = [
  { name: "minute", type: "DateTime('UTC')", start: "toStartOfMinute" },
  { name: "hour", type: "DateTime('UTC')", start: "toStartOfHour" },
  { name: "day", type: "Date", start: "toDate" },
  { name: "month", type: "Date", start: "toStartOfMonth" },
] as const;

type Step = (typeof steps)[number]["name"];

/** The events of one procedure. */
export interface Dataset {
  readonly name: "key_verifications" | "ratelimits";
  /** Raw table, then the aggregates. */
  readonly tables: readonly string[];
  /** Column that the scope of a root key goes by. */
  readonly scopeColumn: "key_space_id" | "namespace_id";
  /** Where rows are inserted, in the internal database: each goes on from there to the raw table, and can be followed (`tail/`). */
  readonly inlet: string;
  /** Columns of the inlet in the order of the rows that are inserted; the others have defaults. */
  readonly insertColumns: readonly string[];
}

interface Definition extends Dataset {
  /** Columns of the raw table with their types, but for `time`. */
  readonly raw: readonly string[];
  readonly rawOrder: string;
  /** Dimensions of the aggregates with their types. */
  readonly dimensions: readonly string[];
  /** Sums of the aggregates and what they add up. */
  readonly sums: Readonly<Record<string, string>>;
  readonly ttl: Readonly<Record<"raw" | Step, string>>;
}

const tablesOf = (name: string): readonly string[] => [`${name}_v1`, ...steps.map((step) => `${name}_per_${step.name}_v1`)];

const WORKSPACE = "workspace_id LowCardinality(String)";
const workspaceDefault = (workspaceId: string): string => `${WORKSPACE} DEFAULT '${workspaceId}'`;

const definitions = (workspaceId: string): readonly Definition[] => [
  {
    ...verifications,
    raw: [
      "request_id String",
      workspaceDefault(workspaceId),
      "key_space_id String",
      "identity_id String",
      "external_id String",
      "key_id String",
      "region LowCardinality(String) DEFAULT 'local'",
      "source LowCardinality(String) DEFAULT 'api'",
      "app_id String DEFAULT ''",
      "outcome LowCardinality(String)",
      "tags Array(String)",
      "spent_credits Int64",
      "latency Float64",
    ],
    rawOrder: "(workspace_id, key_space_id, time)",
    dimensions: [
      WORKSPACE,
      "key_space_id String",
      "identity_id String",
      "external_id String",
      "key_id String",
      "outcome LowCardinality(String)",
      "source LowCardinality(String)",
      "app_id String",
      "tags Array(String)",
    ],
    sums: { count: "count()", spent_credits: "sum(spent_credits)" },
    ttl: { raw: "90 DAY", minute: "90 DAY", hour: "90 DAY", day: "365 DAY", month: "3 YEAR" },
  },
  {
    ...ratelimits,
    raw: [
      "request_id String",
      workspaceDefault(workspaceId),
      "namespace_id String",
      "identifier String",
      "passed Bool",
      "latency Float64",
      "override_id String",
      "`limit` UInt64",
      "remaining UInt64",
      "reset_at Int64",
      "tokens UInt64",
    ],
    rawOrder: "(workspace_id, namespace_id, time)",
    dimensions: [WORKSPACE, "namespace_id String", "identifier String"],
    sums: {
      passed: "countIf(passed)",
      total: "count()",
      total_tokens: "sum(tokens)",
      passed_tokens: "sumIf(tokens, passed)",
    },
    ttl: { raw: "1 MONTH", minute: "7 DAY", hour: "30 DAY", day: "100 DAY", month: "3 YEAR" },
  },
];

export const verifications: Dataset = {
  name: "key_verifications",
  tables: tablesOf("key_verifications"),
  scopeColumn: "key_space_id",
  inlet: "key_verifications_inserted",
  insertColumns: [
    ...["request_id", "time", "key_space_id", "identity_id", "external_id", "key_id", "outcome", "tags"],
    ...["spent_credits", "latency", "writer", "seq"],
  ],
};

export const ratelimits: Dataset = {
  name: "ratelimits",
  tables: tablesOf("ratelimits"),
  scopeColumn: "namespace_id",
  inlet: "ratelimits_inserted",
  insertColumns: [
    ...["request_id", "time", "namespace_id", "identifier", "passed", "latency", "override_id"],
    ...["`limit`", "remaining", "reset_at", "tokens", "writer", "seq"],
  ],
};

/** Names that no CTE may take: those of all tables of both procedures. */
export const allTables: ReadonlySet<string> = new Set([...verifications.tables, ...ratelimits.tables]);

/** Names of all columns that the tables of a procedure have (analytics §§4, 5). */
export const columnsOf = ({ name }: Dataset): ReadonlySet<string> => {
  const definition = definitions("").find((each) => each.name === name);
  const typed = [...(definition?.raw ?? []), ...(definition?.dimensions ?? [])].map((column) => column.split(" ", 1)[0] ?? "");
  return new Set(["time", ...typed.map((column) => column.replaceAll("`", "")), ...Object.keys(definition?.sums ?? {})]);
};

const nameOf = (column: string): string => column.split(" ", 1)[0] ?? "";

/** Columns of a raw table with their types, in the order in which `SELECT *` shows them. */
const typedColumns = ({ raw }: Pick<Definition, "raw">, timeCodec = ""): string[] => [
  raw[0] ?? "",
  `time Int64${timeCodec}`,
  ...raw.slice(1),
];

/** Names of the columns of the raw table, as SQL has them, in the order of `SELECT *`. */
export const rawColumns = ({ name }: Dataset): readonly string[] =>
  definitions("")
    .filter((each) => each.name === name)
    .flatMap((definition) => typedColumns(definition).map(nameOf));

const DAY_MS = 86_400_000;

/** Since when the rows of a table are surely kept, Unix ms: in months and years of the calendar, as the engine counts. */
export const keptSince = ({ name }: Dataset, table: "raw" | Step, now: number): number => {
  const ttl = definitions("").find((each) => each.name === name)?.ttl[table] ?? "0 DAY";
  const [count, unit] = [Number.parseInt(ttl, 10), ttl.split(" ")[1]];
  if (unit === "DAY") return now - count * DAY_MS;
  const months = count * (unit === "YEAR" ? 12 : 1);
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const lastDay = (of: number): number => new Date(Date.UTC(year, of + 1, 0)).getUTCDate();
  const lastBefore = lastDay(month - months);
  // Of a month that ends before that day nothing is left.
  if (day > lastBefore) return Date.UTC(year, month - months + 1);
  // What is of a day that this month does not have goes on its last one.
  return Date.UTC(year, month - months, day === lastDay(month) ? lastBefore : day) + (now - Date.UTC(year, month, day));
};

/** Whether `time` of a table is Unix ms, as in the raw tables, or a date. */
export const isRaw = (table: string): boolean => !table.includes("_per_");

/** Times that every type of `time` can hold, and that no event is beyond: Unix ms, up to the year 2096. */
const LATEST_MS = 4_000_000_000_000;

/** Start of the interval of a table in which `ms` lies, as a literal of the type of its `time`. */
const literalTime = (step: (typeof steps)[number] | undefined, ms: number): string => {
  const within = Math.min(Math.max(Math.floor(ms), 0), LATEST_MS);
  const text = new Date(within).toISOString();
  if (step === undefined) return String(within);
  const length = { minute: 16, hour: 13, day: 10, month: 7 }[step.name];
  const start = `${text.slice(0, length)}${"0000-01-01T00:00:00".slice(length)}`;
  return `'${step.type === "Date" ? start.slice(0, 10) : start.replace("T", " ")}'`;
};

/**
 * Conditions, without any function, that keep rows from `since` on and up to `until` (Unix ms, both inclusive); an interval
 * that `since` lies in is kept as a whole.
 *
 * @param time the column, as it is to be called.
 */
export const timeConditions = (table: string, time: string, since: number, until: number | undefined): string[] => {
  const step = steps.find(({ name }) => table.endsWith(`_per_${name}_v1`));
  return [
    `${time} >= ${literalTime(step, since)}`,
    ...(until === undefined || until > LATEST_MS ? [] : [`${time} <= ${literalTime(step, until)}`]),
  ];
};

export interface SchemaOptions {
  /** Database of the tables; views and the list of migrations stand in `<database>_internal`. */
  readonly database: string;
  readonly cluster: string | undefined;
  readonly workspaceId: string;
  /** False keeps events for ever: for a clock that is not the engine's. */
  readonly expire: boolean;
}

/** One step of the schema. Its statements may be run again, and by several nodes at once. */
export interface Migration {
  readonly version: number;
  readonly statements: readonly string[];
}

/**
 * Where unqualified names of queries are looked up. Nothing is ever there, neither tables nor views: only what has been put in
 * the place of a name can be read.
 */
export const lookUpDatabase = (database: string): string => `${database}_callers`;

/** What a DDL statement needs to reach every node of a cluster. */
export const onCluster = (cluster: string | undefined): string => (cluster === undefined ? "" : ` ON CLUSTER \`${cluster}\``);

/** How many inserts the engine remembers, so that a repeated one counts nothing twice. */
const DEDUPLICATED_INSERTS = 1_000;

/** How long inserted rows can be followed at least, and how often those that are older are looked for. */
const INLET_MINUTES = 20;
const INLET_TTL_S = 300;

/** Every migration, oldest first; those that were released never change. */
export const migrations = ({ database, cluster, workspaceId, expire }: SchemaOptions): readonly Migration[] => {
  const everywhere = onCluster(cluster);
  const replicated = cluster === undefined ? "" : "Replicated";
  const window = cluster === undefined ? "non_replicated_deduplication_window" : "replicated_deduplication_window";
  const settings = `SETTINGS ${window} = ${DEDUPLICATED_INSERTS}`;
  const until = (time: string, age: string): string => (expire ? `TTL ${time} + INTERVAL ${age} DELETE ` : "");

  const createRaw = ({ tables, raw, rawOrder, ttl }: Definition): string =>
    `CREATE TABLE IF NOT EXISTS ${database}.${tables[0]}${everywhere} (${typedColumns({ raw }, " CODEC(Delta, LZ4)").join(", ")}) ` +
    `ENGINE = ${replicated}MergeTree PARTITION BY toYYYYMM(fromUnixTimestamp64Milli(time, 'UTC')) ORDER BY ${rawOrder} ` +
    `${until("toDateTime(fromUnixTimestamp64Milli(time, 'UTC'))", ttl.raw)}${settings}`;

  const createAggregates = ({ name, tables, dimensions, sums, ttl }: Definition): string[] =>
    steps.flatMap((step, i) => {
      const table = `${database}.${tables[i + 1]}`;
      const [workspace = "", scope = "", ...others] = dimensions;
      const columns = dimensions.map((column) => column.split(" ", 1)[0] ?? "");
      const order = [columns[0], columns[1], "time", ...columns.slice(2)].join(", ");
      const totals = Object.keys(sums);
      const definition = [`time ${step.type}`, workspace, scope, ...others, ...totals.map((total) => `${total} Int64`)].join(", ");
      const time = `${step.start}(fromUnixTimestamp64Milli(${database}.${tables[0]}.time, 'UTC')) AS time`;
      const values = Object.entries(sums).map(([total, sum]) => `toInt64(${sum}) AS ${total}_`);
      const renamed = totals.map((total) => `${total}_ AS ${total}`);
      return [
        `CREATE TABLE IF NOT EXISTS ${table}${everywhere} (${definition}) ENGINE = ${replicated}SummingMergeTree((${totals.join(", ")})) ` +
          `PARTITION BY toYYYYMM(time) ORDER BY (${order}) ${until("time", ttl[step.name])}${settings}`,
        `CREATE MATERIALIZED VIEW IF NOT EXISTS ${database}_internal.${name}_to_${step.name}${everywhere} TO ${table} AS ` +
          `SELECT interval_start AS time, ${columns.join(", ")}, ${renamed.join(", ")} FROM (SELECT ${time.replace(" AS time", " AS interval_start")}, ` +
          `${columns.join(", ")}, ${values.join(", ")} FROM ${database}.${tables[0]} GROUP BY interval_start, ${columns.join(", ")})`,
      ];
    });

  // Every row once more for as long as it can be followed, in the order of its writer: `seq` counts the events of one writer from
  // 1, a gap is what was lost, and they are inserted one batch after the other, so nothing ever comes in behind what has been read. The
  // time of insertion is the engine's own, whatever clock the events have, and no partition is made of it: a repeated insert
  // is known again within one partition only.
  const createInlet = (definition: Definition): string[] => {
    const { name, tables } = definition;
    const inlet = `${database}_internal.${definition.inlet}`;
    const columns = typedColumns(definition);
    return [
      `CREATE TABLE IF NOT EXISTS ${inlet}${everywhere} (${[...columns, "writer String", "seq Int64", "inserted_at DateTime('UTC') DEFAULT now()"].join(", ")}) ` +
        `ENGINE = ${replicated}MergeTree ORDER BY (writer, seq) ` +
        `TTL inserted_at + INTERVAL ${INLET_MINUTES} MINUTE DELETE ${settings}, merge_with_ttl_timeout = ${INLET_TTL_S}`,
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${database}_internal.${name}_to_raw${everywhere} TO ${database}.${tables[0]} AS ` +
        `SELECT ${columns.map(nameOf).join(", ")} FROM ${inlet}`,
    ];
  };

  return [
    {
      version: 1,
      statements: definitions(workspaceId).flatMap((definition) => [createRaw(definition), ...createAggregates(definition)]),
    },
    { version: 2, statements: definitions(workspaceId).flatMap(createInlet) },
  ];
};
