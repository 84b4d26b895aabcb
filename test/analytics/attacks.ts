const raw = "key_verifications_v1";

/** How an attack must end: with one of the contract's 400s or 422s, or with exactly these rows of the caller's own scope. */
export type Outcome = "query" | "type" | "table" | "function" | "retention" | "exhausted" | { readonly rows: readonly object[] };

export interface Attack {
  readonly sql: string;
  /** Any of these. */
  readonly outcomes: readonly Outcome[];
}

const attack =
  (...outcomes: Outcome[]) =>
  (sql: string): Attack => ({ sql, outcomes });

/** The rows in the scope of these attacks: two of `key_own`. */
const own = (count: number): Outcome => ({ rows: [{ n: count }] });

const otherTables = [
  "SELECT 1 FROM system.tables",
  "SELECT 1 FROM system.one",
  "SELECT name FROM system.databases",
  "SELECT 1 FROM information_schema.tables",
  "SELECT 1 FROM INFORMATION_SCHEMA.COLUMNS",
  "SELECT 1 FROM tables",
  "SELECT 1 FROM one",
  `SELECT 1 FROM latchkey.${raw}`,
  `SELECT 1 FROM default.${raw}`,
  `SELECT 1 FROM \`latchkey\`.\`${raw}\``,
  `SELECT 1 FROM "latchkey"."${raw}"`,
  `SELECT 1 FROM \`latchkey.${raw}\``,
  "SELECT 1 FROM latchkey_internal.migrations",
  "SELECT 1 FROM latchkey_internal.key_verifications_to_day",
  "SELECT 1 FROM latchkey_internal.key_verifications_inserted",
  "SELECT 1 FROM `.inner_id.key_verifications_to_day`",
  "SELECT 1 FROM migrations",
  "SELECT 1 FROM key_verifications",
  "SELECT 1 FROM key_verifications_raw_v2",
  "SELECT 1 FROM KEY_VERIFICATIONS_V1",
  "SELECT 1 FROM ratelimits_v1",
  "SELECT 1 FROM ratelimits_per_day_v1",
  `SELECT 1 FROM ${raw}, system.tables`,
  `SELECT 1 FROM ${raw} AS a JOIN system.tables AS b ON a.key_id = b.name`,
  `SELECT 1 FROM ${raw} LEFT JOIN ratelimits_v1 USING (request_id)`,
  "SELECT 1 FROM (SELECT * FROM system.tables)",
  "SELECT 1 FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM system.tables)))",
  `SELECT (SELECT count() FROM system.tables) FROM ${raw}`,
  `SELECT 1 FROM ${raw} WHERE key_id IN (SELECT name FROM system.tables)`,
  `SELECT 1 FROM ${raw} WHERE EXISTS (SELECT 1 FROM system.tables)`,
  `SELECT 1 FROM ${raw} WHERE spent_credits = (SELECT count() FROM system.tables)`,
  `SELECT 1 FROM ${raw} GROUP BY key_id HAVING count() > (SELECT count() FROM system.tables)`,
  `SELECT 1 FROM ${raw} ORDER BY (SELECT count() FROM system.tables)`,
  `SELECT 1 FROM ${raw} UNION ALL SELECT 1 FROM system.tables`,
  `(SELECT 1 FROM ${raw}) EXCEPT (SELECT 1 FROM system.tables)`,
  `SELECT 1 FROM ${raw} INTERSECT SELECT 1 FROM system.tables`,
  `WITH a AS (SELECT * FROM system.tables) SELECT 1 FROM a`,
  `WITH a AS (SELECT 1 AS x FROM ${raw}), b AS (SELECT * FROM system.tables) SELECT 1 FROM b`,
  `WITH (SELECT count() FROM system.tables) AS n SELECT n FROM ${raw}`,
  `SELECT countIf(key_id IN (SELECT name FROM system.tables)) FROM ${raw}`,
  `SELECT * FROM (WITH tables AS (SELECT 1 AS x FROM ${raw}) SELECT * FROM tables) AS a, system.tables AS b`,
  `SELECT if(1, (SELECT any(name) FROM system.tables), '') FROM ${raw}`,
  `SELECT sum(1) OVER (ORDER BY (SELECT count() FROM system.tables)) FROM ${raw}`,
  `SELECT arrayFilter(x -> x IN (SELECT name FROM system.tables), tags) FROM ${raw}`,
  `WITH ${raw} AS (SELECT 1 AS x FROM key_verifications_per_day_v1) SELECT * FROM ${raw}`,
  `WITH ratelimits_v1 AS (SELECT 1 AS x FROM ${raw}) SELECT * FROM ratelimits_v1`,
  `WITH RECURSIVE r AS (SELECT name FROM system.tables UNION ALL SELECT name FROM r) SELECT * FROM r`,
].map(attack("table"));

const settings = [
  `SELECT 1 FROM ${raw} SETTINGS max_threads = 1`,
  `SELECT 1 FROM ${raw} SETTINGS additional_table_filters = {}`,
  `SELECT * FROM (SELECT * FROM ${raw} SETTINGS additional_table_filters = {})`,
  `SELECT * FROM (SELECT * FROM (SELECT * FROM ${raw} SETTINGS readonly = 0))`,
  `WITH a AS (SELECT * FROM ${raw} SETTINGS additional_table_filters = {}) SELECT * FROM a`,
  `SELECT 1 FROM ${raw} WHERE key_id IN (SELECT key_id FROM ${raw} SETTINGS additional_table_filters = {})`,
  `SELECT (SELECT count() FROM ${raw} SETTINGS additional_table_filters = {}) FROM ${raw}`,
  `SELECT 1 FROM ${raw} UNION ALL SELECT 1 FROM ${raw} SETTINGS additional_table_filters = {}`,
  `(SELECT 1 FROM ${raw} SETTINGS additional_table_filters = {}) UNION ALL SELECT 1 FROM ${raw}`,
  `SELECT 1 FROM ${raw} AS a JOIN (SELECT * FROM ${raw} SETTINGS max_execution_time = 0) AS b USING (key_id)`,
  `SELECT 1 FROM ${raw} WHERE EXISTS (SELECT 1 FROM ${raw} SETTINGS max_memory_usage = 0)`,
  `SELECT 1 FROM ${raw} /* x */ sEtTiNgS/**/max_threads=1`,
].map(attack("query"));

const tableFunctions = [
  ...["numbers(10)", "zeros(10)", "one()", "generateRandom('a Int')", "values('a Int', 1)", "null('a Int')", "generate_series(1, 9)"],
  ...["file('/etc/passwd', 'LineAsString')", "file('*')", "url('http://127.0.0.1:1/', 'LineAsString')", "urlCluster('a', 'http://b')"],
  ...["remote('127.0.0.1', system.tables)", "remoteSecure('127.0.0.1', system.one)", "cluster('default', system.one)"],
  ...["clusterAllReplicas('default', system.one)", "s3('http://127.0.0.1/x')", "gcs('http://127.0.0.1/x')", "hdfs('hdfs://a/b')"],
  ...["azureBlobStorage('a', 'b', 'c')", "mysql('127.0.0.1', 'a', 'b', 'c', 'd')", "postgresql('127.0.0.1', 'a', 'b', 'c', 'd')"],
  ...["mongodb('127.0.0.1', 'a', 'b', 'c', 'd', 'e String')", "sqlite('latchkey.sqlite', 'keys')", "redis('127.0.0.1', 'k', 'k String')"],
  ...["jdbc('x', 'y')", "odbc('x', 'y')", "executable('sh', 'TSV', 'a String')", "dictionary('x')", "merge('latchkey', '.*')"],
  ...["merge('.*', '.*')", "merge('key_verifications_v1')", "view(SELECT 1)", "input('a Int')", "loop(key_verifications_v1)"],
  ...["mergeTreeIndex('latchkey', 'key_verifications_v1')", "mergeTreeProjection('a', 'b', 'c')", "iceberg('http://127.0.0.1')"],
  ...["deltaLake('http://127.0.0.1')", "hudi('http://127.0.0.1')", "fuzzJSON('{}')", "fuzzQuery('SELECT 1')", "format(JSONEachRow, '{}')"],
  ...[
    "arrowFlight('x')",
    "timeSeriesData('x')",
    "ytsaurus('a', 'b', 'c')",
    "Python('x')",
    "primes(3)",
    "viewIfPermitted(SELECT 1 ELSE null('a Int'))",
  ],
]
  .flatMap((call) => [`SELECT * FROM ${call}`, `SELECT 1 FROM ${raw} WHERE 1 IN (SELECT 1 FROM ${call})`])
  .map(attack("function"));

const functions = [
  ...["file('/etc/passwd')", "sleep(3)", "sleepEachRow(1)", "dictGet('a', 'b', 1)", "joinGet('a', 'b', 1)", "currentUser()", "user()"],
  ...["hostName()", "version()", "currentDatabase()", "getSetting('readonly')", "getServerSetting('max_connections')", "getMacro('x')"],
  ...["uptime()", "tcpPort()", "showCertificate()", "generateUUIDv4()", "rand()", "throwIf(1)", "toTypeName(1)", "materialize(1)"],
  ...["ignore(1)", "identity(1)", "repeat('a', 1000000000)", "range(1000000000)", "arrayMap(x -> x, tags)", "arrayReduce('sum', [1])"],
  ...[
    "initializeAggregation('sum', 1)",
    "runningAccumulate(1)",
    "finalizeAggregation(1)",
    "catboostEvaluate('a', 1)",
    "hasColumnInTable('system', 'tables', 'name')",
  ],
  ...[
    "filesystemAvailable()",
    "getOSKernelVersion()",
    "buildId()",
    "addressToLine(1)",
    "demangle('x')",
    "addressToSymbol(1)",
    "tid()",
    "logTrace('x')",
  ],
  ...[
    "toUnixTimestamp(now())",
    "avgMerge(latency)",
    "sumState(latency)",
    "uniqMerge(latency)",
    "anyLast(key_id)",
    "argMax(key_id, time)",
    "row_number() OVER ()",
  ],
  ...[
    "CAST(1 AS String)",
    "1::String",
    "@@version",
    "reinterpret(1, 'String')",
    "JSONExtractRaw(key_id)",
    "extract(key_id, '.*')",
    "match(key_id, '.*')",
  ],
  ...[
    "countIf(sleep(1))",
    "if(1, sleep(3), 0)",
    "quantile(sleep(1))(latency)",
    "CASE WHEN sleep(1) = 0 THEN 1 ELSE 2 END",
    "arrayFilter(x -> sleep(1) = 0, tags)",
  ],
  ...[
    "sum(1) OVER (ORDER BY sleep(1))",
    "sum(1) OVER (PARTITION BY sleep(1))",
    "(SELECT sleep(1) FROM key_verifications_v1)",
    "[sleep(1)]",
    "(1, sleep(1))",
  ],
  ...[
    "`sleep`(1)",
    '"sleep"(1)',
    "SLEEP(1)",
    "sLeEp(1)",
    "sleep /* */ (1)",
    "sum(1) FILTER (WHERE sleep(1) = 0)",
    "avgIf(latency, 1)",
    "untuple((1, 2))",
  ],
]
  .map((call) => `SELECT ${call} FROM ${raw}`)
  .concat([
    `SELECT 1 FROM ${raw} WHERE sleep(3) = 0`,
    `SELECT 1 FROM ${raw} PREWHERE sleep(3) = 0`,
    `SELECT 1 FROM ${raw} GROUP BY sleep(1)`,
    `SELECT 1 FROM ${raw} GROUP BY key_id HAVING sleep(1) = 0`,
    `SELECT 1 FROM ${raw} ORDER BY sleep(1)`,
    `SELECT 1 FROM ${raw} ORDER BY time WITH FILL FROM sleep(1)`,
    `SELECT 1 AS x FROM ${raw} ORDER BY time WITH FILL INTERPOLATE (x AS sleep(1))`,
    `SELECT 1 FROM ${raw} LIMIT 1 BY sleep(1)`,
    `SELECT 1 FROM ${raw} LIMIT sleep(1)`,
    `SELECT 1 FROM ${raw} AS a JOIN ${raw} AS b ON sleep(1) = 0`,
    `SELECT 1 FROM ${raw} ARRAY JOIN range(10) AS x`,
    `SELECT 1 FROM ${raw} WINDOW w AS (ORDER BY sleep(1))`,
    `SELECT 1 FROM ${raw} QUALIFY sleep(1) = 0`,
    `WITH sleep(1) AS x SELECT x FROM ${raw}`,
    `SELECT * REPLACE (sleep(1) AS key_id) FROM ${raw}`,
    `SELECT DISTINCT ON (sleep(1)) key_id FROM ${raw}`,
  ])
  .map(attack("function"));

const niladic = ["CURRENT_USER", "current_user", "Current_User", "USER", "user", "SESSION_USER", "CURRENT_DATABASE", "DATABASE", "SCHEMA"];
const dates = [
  "CURRENT_DATE",
  "CURRENT_TIMESTAMP",
  "LOCALTIME",
  "LOCALTIMESTAMP",
  "CURDATE",
  "now",
  "today",
  "currentUser",
  "currentDatabase",
];
const virtual = ["_database", "_table", "_part", "_partition_id", "_block_number", "_part_offset", "`_part`"];
const subcolumns = ["tags.size0", "`tags.size0`", "v.tags.size0", "tags.size0.size0", "key_id.size", "latchkey.key_verifications_v1.time"];

/** Names that are no column, and that the engine would still answer. */
const identifiers = [
  ...[...niladic, ...dates, ...virtual, ...subcolumns, "v._part", "nothing", "v.nothing", "Time", "v", "x.time"].map(
    (name) => `SELECT ${name} AS z FROM ${raw} AS v`,
  ),
  ...["CURRENT_USER", "USER", "_part", "`tags.size0`"].map((name) => `SELECT ${name} AS ${name} FROM ${raw}`),
  `SELECT tags.size0 AS \`tags.size0\` FROM ${raw}`,
  `SELECT tags.size0, 1 AS size0 FROM ${raw}`,
  `SELECT tags AS t, 1 AS size0, t.size0 FROM ${raw}`,
  `SELECT tags AS t, 1 AS size0, t.size0 FROM ${raw} AS t`,
  `SELECT tags.size0, 1 AS size0 FROM ${raw} AS tags`,
  `SELECT USER AS b, b AS USER FROM ${raw}`,
  `SELECT USER AS a FROM ${raw} GROUP BY a ORDER BY (SELECT any(key_id) AS USER FROM ${raw})`,
  `SELECT (SELECT any(key_id) AS USER FROM ${raw}), USER FROM ${raw}`,
  `SELECT 1 AS n FROM ${raw} ORDER BY USER`,
  `SELECT count() AS n FROM ${raw} GROUP BY _part`,
  `SELECT count() AS n FROM ${raw} GROUP BY key_id HAVING any(_part) != ''`,
  `SELECT 1 FROM ${raw} WHERE CURRENT_USER = 'default'`,
  `SELECT 1 FROM ${raw} PREWHERE _part != ''`,
  `SELECT 1 FROM ${raw} LIMIT 1 BY _part`,
  `SELECT 1 FROM ${raw} AS a JOIN ${raw} AS b ON a._part = b._part`,
  `SELECT 1 FROM ${raw} AS a JOIN ${raw} AS b USING (_part)`,
  `SELECT x FROM ${raw} ARRAY JOIN [_part] AS x`,
  `SELECT x FROM (SELECT _part AS x FROM ${raw})`,
  `WITH _part AS x SELECT x FROM ${raw}`,
  `SELECT * REPLACE (_part AS key_id) FROM ${raw}`,
  `SELECT arrayFilter(x -> x = CURRENT_USER, tags) FROM ${raw}`,
  `SELECT sum(1) OVER (PARTITION BY _part) FROM ${raw}`,
  `SELECT sum(1) OVER w FROM ${raw} WINDOW w AS (ORDER BY _part)`,
].map(attack("query"));

/** Functions with a syntax of their own must not be called by name. */
const calls = [
  ...["tuple(1)", "tuple (1, key_id)", "TUPLE(1, 2)", "`tuple`(1)", "tuple/* */(1)", "tuple -- x\n (1)", "tupleElement((1, 2), 1)"],
  ...["array(1)", "array()", "arrayElement(tags, 1)", "multiIf(1, 2, 3)", "MULTIIF(1, 2, 3)", "caseWithExpression(1, 2, 3, 4)"],
  ...["equals(1, 2)", "plus(1, 2)", "and(1, latency)", "in(1, (1, 2))", "like(key_id, 'a')", "isNull(key_id)", "negate(latency)"],
  ...["trimBoth(key_id)", "LTRIM(key_id)", "countDistinct(key_id)", "date_add(DAY, 1, now())", "arrayFilter(lambda(tuple(x), 1), tags)"],
]
  .map((call) => `SELECT ${call} FROM ${raw}`)
  .map(attack("function"));

const timeTuples = [
  ...["(time, key_id) > (now(), 'a')", "('2026-01-01', 'a') < (time, key_id)", "(key_id, v.time) = ('a', 1)"],
  ...["(time, key_id) BETWEEN (now(), 'a') AND (now(), 'b')", "(time, key_id) IN ((now(), 'a'))", "[time] = [now()]"],
  ...["((time, 1), 2) > ((now(), 1), 2)"],
]
  .map((condition) => `SELECT 1 FROM ${raw} AS v WHERE ${condition}`)
  .map(attack("query"));

const statements = [
  ...["INSERT INTO key_verifications_v1 VALUES (1)", "DELETE FROM key_verifications_v1 WHERE 1", "DROP TABLE key_verifications_v1"],
  ...["CREATE TABLE x (a Int8) ENGINE = Memory", "ALTER TABLE key_verifications_v1 DELETE WHERE 1", "TRUNCATE TABLE key_verifications_v1"],
  ...["GRANT SELECT ON *.* TO default", "SHOW TABLES", "DESCRIBE TABLE key_verifications_v1", "EXPLAIN SELECT 1 FROM key_verifications_v1"],
  ...[
    "SET readonly = 0",
    "USE system",
    "SYSTEM SHUTDOWN",
    "KILL QUERY WHERE 1",
    "OPTIMIZE TABLE key_verifications_v1",
    "EXISTS TABLE key_verifications_v1",
  ],
  ...[
    "RENAME TABLE key_verifications_v1 TO x",
    "CREATE VIEW v AS SELECT 1",
    "ATTACH TABLE x",
    "CREATE FUNCTION f AS x -> x",
    "CHECK TABLE x",
  ],
  ...["CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(HTTP(URL 'http://127.0.0.1' FORMAT 'TSV')) LAYOUT(FLAT()) LIFETIME(0)"],
  ...[
    "BACKUP TABLE key_verifications_v1 TO File('x')",
    "INSERT INTO FUNCTION file('x') SELECT * FROM key_verifications_v1",
    "UNDROP TABLE x",
  ],
].map(attack("type"));

const texts = [
  `SELECT 1 FROM ${raw}; DROP TABLE ${raw}`,
  `SELECT 1 FROM ${raw}; SELECT 1 FROM system.tables`,
  `SELECT 1 FROM ${raw};;SELECT 1`,
  `DROP TABLE ${raw}; SELECT 1 FROM ${raw}`,
  `SELECT 1 FROM ${raw} FORMAT JSON`,
  `SELECT 1 FROM ${raw} format/**/Null`,
  `SELECT 1 FROM ${raw} INTO OUTFILE 'stolen.csv'`,
  `SELECT 1 FROM ${raw} INTO OUTFILE 'stolen.csv' TRUNCATE FORMAT CSV`,
  `SELECT 1 FROM ${raw} INTO DUMPFILE 'stolen'`,
  `SELECT 1 FROM ${raw}) UNION ALL SELECT (1`,
  `SELECT 1 FROM ${raw})--`,
  `SELECT 1 FROM ${raw}\n) UNION ALL SELECT name FROM (SELECT name FROM system.tables`,
  "SELECT 1",
  "SELECT now()",
  "SELECT 1 AS x WHERE x = 1",
  `SELECT (SELECT 1) FROM ${raw}`,
  `SELECT 1 FROM ${raw} UNION ALL SELECT 1`,
  "VALUES (1)",
  "TABLE key_verifications_v1",
  "hello",
  "",
  "   ",
  "-- nothing",
  "/* nothing */",
  ";",
  "WITH 1 AS x",
  "EXECUTE IMMEDIATE 'SELECT 1'",
  "SELECT * FROM (EXPLAIN SELECT 1)",
  "SELECT * FROM (SHOW TABLES)",
  `SELECT * FROM viewExplain('EXPLAIN', '', (SELECT 1 FROM ${raw}))`,
  `SELECT {x:String} FROM ${raw}`,
  `SELECT {x:Identifier} FROM ${raw}`,
  `SELECT 1 FROM {t:Identifier}`,
  `SELECT 1 FROM ${raw} WHERE key_id IN system.tables`,
  `SELECT 1 FROM ${raw} WHERE key_id NOT IN tables`,
  `SELECT 1 FROM ${raw} WHERE key_id GLOBAL IN ${raw}`,
  `SELECT 1 FROM ${raw} WHERE key_id IN numbers(3)`,
  `SELECT 1 FROM ${raw} WHERE key_id IN file('x')`,
  `SELECT 1 FROM ${raw} WHERE has(tags, key_id) IN (key_id)`,
  `SELECT 1 FROM ${raw} SAMPLE 1/2`,
  `SELECT COLUMNS('.*') FROM ${raw}`,
  `SELECT * APPLY sleep FROM ${raw}`,
  `SELECT COLUMNS('key') APPLY toTypeName FROM ${raw}`,
  `SELECT 1 FROM ${raw} AS \`a\n TableIdentifier b\``,
  `SELECT key_id AS \`x (alias y)\n\` FROM ${raw}`,
  `SELECT 1 FROM \`${raw} (alias x)\``,
  `SELECT 1 FROM \`${raw} (children 1)\``,
  "SELECT 1 FROM `system`.`tables (alias key_verifications_v1)`",
  "SELECT 1 FROM `key_verifications_v1\\`.\\`x`",
  "SELECT 1 FROM ｋey_verifications_v1",
  "SELECT 1 FROM kеy_verifications_v1",
  "SELECT 1 FROM key_verifications_v1\u0000",
  "SELECT 1 FROM system\u2024tables",
  "SELECT 1 FROM \u00a0system.tables",
  "ＳＥＬＥＣＴ 1 FROM system.tables",
  "SELECT 1 FROM $$system.tables$$",
  "SELECT 1 FROM 'system.tables'",
  "SELECT 1 FROM `sys\\x74em`.tables",
  "SELECT 1 FROM system . tables",
  "SELECT 1 FROM system/**/.tables",
  "SELECT 1 FROM system.\n--x\ntables",
  "SELECT /*! 1 FROM system.tables */ 1",
  "select 1 from\tsystem.tables#",
  `SELECT ${Array.from({ length: 65 }, (_, i) => `key_id AS a${i}`).join(", ")} FROM ${raw}`,
  `SELECT 1 FROM ${raw} WHERE ${Array.from({ length: 600 }, (_, i) => `key_id = '${i}'`).join(" OR ")}`,
  `SELECT 1 FROM ${raw} WHERE key_id = '${"x".repeat(17_000)}'`,
  `SELECT ${"(".repeat(3_000)}1${")".repeat(3_000)} FROM ${raw}`,
  `SELECT ${"-".repeat(2_001)}1 FROM ${raw}`,
  `${"SELECT * FROM (".repeat(300)}SELECT * FROM ${raw}${")".repeat(300)}`,
].map(attack("query", "table", "function", "type"));

const arrays = (count: number): string[] => Array.from({ length: count }, (_, i) => `arrayJoin([${i},2,3,4,5,6,7,8,9,10])`);

/** Queries that run: they see the rows of their scope, and no other. */
const confined = [
  attack(own(2))(`SELECT count() AS n FROM ${raw}`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE 1 = 1 OR 1 = 1`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE key_id = 'x' OR 1`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE 1) OR (1`.replace(") OR (1", "")),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE NOT (key_space_id = 'x')`),
  attack(own(0))(`SELECT count() AS n FROM ${raw} WHERE key_space_id = 'api_other'`),
  attack(own(0))(`SELECT count() AS n FROM ${raw} WHERE key_space_id != 'api_own'`),
  attack("query")(`SELECT count() AS n FROM ${raw} PREWHERE 1 WHERE 1`),
  attack("query")(`SELECT count() AS n FROM ${raw} PREWHERE key_space_id = 'api_other'`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} AS \`latchkey.key_verifications_per_day_v1\``),
  attack(own(2), "query")(`SELECT count() AS n FROM ${raw} AS key_verifications_per_day_v1`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} AS x`),
  attack(own(2))(`SELECT count() AS n FROM "${raw}"`),
  attack(own(2))(`SELECT count() AS n FROM \`${raw}\` -- ; DROP TABLE x`),
  attack(own(2))(`SELECT /* FROM system.tables */ count() AS n FROM ${raw} /* SETTINGS x = 1 */`),
  attack(own(2))(`SELECT count() AS n FROM ${raw};`),
  attack(own(2))(`SELECT count() AS n FROM ${raw}\u200b`),
  attack({ rows: [{ key_space_id: "api_own" }] })(`SELECT DISTINCT key_space_id FROM ${raw}`),
  attack({ rows: [{ k: "key_own" }] })(
    `SELECT DISTINCT key_id AS k, 1 AS key_space_id FROM ${raw} LIMIT 1 BY k`.replace(", 1 AS key_space_id", ""),
  ),
  attack({ rows: [{ key_space_id: "api_other", n: 2 }] }, "query")(`SELECT 'api_other' AS key_space_id, count() AS n FROM ${raw}`),
  attack({ rows: [{ key_space_id: "api_own", n: 2 }] }, "query")(`SELECT 'api_own' AS key_space_id, count() AS n FROM ${raw}`),
  attack(own(2), "query")(`WITH 'api_own' AS key_space_id SELECT count() AS n FROM ${raw}`),
  attack(
    { rows: [{ k: "key_own", key_space_id: "api_own" }] },
    "query",
  )(`SELECT DISTINCT key_id AS k, 'api_own' AS key_space_id FROM ${raw}`),
  attack({ rows: [{ key_id: "key_own", time: 9e15 }] }, "query")(`SELECT DISTINCT key_id, 9000000000000000 AS time FROM ${raw}`),
  attack(own(2))(`SELECT count() AS n FROM (SELECT *, 'api_other' AS key_space_id FROM ${raw})`),
  attack(own(4))(`SELECT count() AS n FROM ${raw} AS a CROSS JOIN ${raw} AS b`),
  attack(own(4))(`SELECT count() AS n FROM ${raw} AS a, ${raw} AS b`),
  attack(own(4))(`SELECT count() AS n FROM ${raw} AS a JOIN ${raw} AS b ON 1 = 1`),
  attack(own(4))(`SELECT count() AS n FROM ${raw} AS a FULL JOIN ${raw} AS b USING (workspace_id)`),
  attack(own(4))(`SELECT count() AS n FROM ${raw} AS a RIGHT JOIN ${raw} AS b ON a.workspace_id = b.workspace_id`),
  attack(own(0))(`SELECT count() AS n FROM ${raw} AS a ANTI JOIN ${raw} AS b ON a.key_space_id = b.key_space_id`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE key_id IN (SELECT key_id FROM ${raw})`),
  attack(own(0))(`SELECT count() AS n FROM ${raw} WHERE 'key_other' IN (SELECT key_id FROM ${raw})`),
  attack(own(0))(`SELECT count() AS n FROM ${raw} WHERE EXISTS (SELECT 1 FROM ${raw} WHERE key_id = 'key_other')`),
  attack({ rows: [{ n: 2 }] })(`SELECT (SELECT count() FROM ${raw}) AS n FROM ${raw} LIMIT 1`),
  attack(own(2))(`WITH a AS (SELECT * FROM ${raw}) SELECT count() AS n FROM a`),
  attack(own(2))(`WITH a AS (SELECT * FROM ${raw}), b AS (SELECT * FROM a) SELECT count() AS n FROM b`),
  attack(own(2))(`SELECT n FROM (SELECT count() AS n FROM ${raw})`),
  attack(own(4))(`SELECT count() AS n FROM (SELECT key_id FROM ${raw} UNION ALL SELECT key_id FROM ${raw})`),
  attack({ rows: [] })(`SELECT key_space_id FROM ${raw} EXCEPT SELECT 'api_own' FROM ${raw}`),
  attack(own(2))(`SELECT sum(count) AS n FROM key_verifications_per_minute_v1`),
  attack(own(2))(`SELECT sum(count) AS n FROM key_verifications_per_hour_v1`),
  attack(own(2))(`SELECT sum(count) AS n FROM key_verifications_per_day_v1`),
  attack(own(2))(`SELECT sum(count) AS n FROM key_verifications_per_month_v1`),
  attack("query")(`SELECT sum(count) AS n FROM key_verifications_per_month_v1 FINAL`),
  attack(own(2))(`SELECT sum(count) AS n FROM key_verifications_per_month_v1 AS final`),
  attack({ rows: [{ n: ["own"] }] })(`SELECT ARRAYFILTER(tag -> tag != '', tags) AS n FROM ${raw} LIMIT 1`),
  attack(own(2))(`SELECT count(${raw}.key_id) AS n FROM ${raw} AS v WHERE ${raw}.key_id = v.key_id`),
  attack(own(2))(`SELECT count() AS n FROM (SELECT ${raw}.* FROM ${raw} AS v)`),
  attack(own(2))(`SELECT length(groupArray(key_id)) AS n FROM ${raw}`),
  attack({ rows: [{ a: "key_own", b: "key_own" }] })(`SELECT min(key_id) AS a, max(key_id) AS b FROM ${raw}`),
  attack({ rows: [{ a: "key_own" }] })(`SELECT DISTINCT first AS a FROM (SELECT min(key_id) OVER () AS first FROM ${raw})`),
  attack({ rows: [{ key_id: "key_own" }] })(`SELECT key_id FROM ${raw} ORDER BY key_space_id DESC LIMIT 1`),
  attack({ rows: [{ key_id: "key_own" }] })(`SELECT key_id FROM ${raw} GROUP BY key_id WITH TOTALS`),
  attack(own(1))(`SELECT uniqExact(key_space_id) AS n FROM ${raw}`),
  attack({ rows: [{ n: "own" }] })(`SELECT arrayJoin(tags) AS n FROM ${raw} LIMIT 1`),
  attack({ rows: [{ t: "own" }] })(`SELECT t FROM ${raw} ARRAY JOIN tags AS t LIMIT 1`),
  attack({ rows: [{ n: "' OR 1=1 --" }] })(`SELECT '\\' OR 1=1 --' AS n FROM ${raw} LIMIT 1`),
  attack({ rows: [{ n: "a'b" }] })(`SELECT 'a''b' AS n FROM ${raw} LIMIT 1`),
  attack({ rows: [{ n: "SETTINGS x = 1; FROM system.tables" }] })(`SELECT 'SETTINGS x = 1; FROM system.tables' AS n FROM ${raw} LIMIT 1`),
  attack({ rows: [{ "SETTINGS x = 1 FROM system.tables": 1 }] })(`SELECT 1 AS \`SETTINGS x = 1 FROM system.tables\` FROM ${raw} LIMIT 1`),
  attack({ rows: [{ ｎ: 1 }] }, "query")(`SELECT 1 AS \`ｎ\` FROM ${raw} LIMIT 1`),
  attack({ rows: [{ user: "key_own", n: 2 }] })(
    `SELECT key_id AS user, count() AS n FROM ${raw} GROUP BY user HAVING user != '' ORDER BY user`,
  ),
  attack({ rows: [{ user: "key_own" }] })(`SELECT s.user AS user FROM (SELECT any(key_id) AS user FROM ${raw}) AS s`),
  attack({ rows: [{ b: 2, a: 1 }] })(`SELECT a + 1 AS b, 1 AS a FROM ${raw} LIMIT 1`),
  attack({ rows: [{ "my.n": 2 }] })(`SELECT count() AS "my.n" FROM ${raw} GROUP BY key_id ORDER BY "my.n"`),
  attack(own(2))(
    `SELECT v.n FROM (SELECT count(*) AS n FROM ${raw} AS t WHERE t.\`key_id\` = "t"."key_id") AS v`.replace("v.n", "v.n AS n"),
  ),
  attack(own(2))(`SELECT count(*) AS n FROM (SELECT t.* EXCEPT (tags) FROM ${raw} AS t)`),
  attack(own(2))(`SELECT count(*) AS n FROM (SELECT ${raw}.key_id FROM ${raw} ORDER BY ALL)`),
  attack(own(2))(`SELECT count(*) AS n FROM ${raw} AS a JOIN (SELECT DISTINCT key_id, time AS at FROM ${raw} LIMIT 1) AS b USING (key_id)`),
  attack({ rows: [{ a: ["own"], b: 1, c: "x", d: [1] }] })(
    `SELECT arrayFilter(tag -> tag = 'own', tags) AS a, (1, 2).1 AS b, CASE WHEN outcome = 'VALID' THEN 'x' ELSE '' END AS c, [1] AS d FROM ${raw} LIMIT 1`,
  ),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE (key_id) IN ('key_own') AND (outcome = 'VALID') AND NOT (key_id = '') OR (1 = 2)`),
  attack(own(2))(
    `SELECT count() AS n FROM ${raw} WHERE (outcome, key_id) = ('VALID', 'key_own') AND key_id != 'tuple(1)' /* tuple(1) */ -- array(1)`,
  ),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE (time, key_id) IN (SELECT time, key_id FROM ${raw})`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE (time, key_id) = (time, key_id) AND (1, ) = (1, )`),
  attack(own(2))(`SELECT count() AS n FROM ${raw} WHERE EXISTS (SELECT 1 FROM ${raw}) AND trim(key_id) = TRIM(BOTH ' ' FROM key_id)`),
];

const doubled = Array.from({ length: 40 }, (_, i) => `concat(a${i}, a${i}) AS a${i + 1}`).join(", ");
const exhausting = [
  attack("exhausted", "query")(`WITH 'aaaaaaaaaa' AS a0, ${doubled} SELECT length(a40) FROM ${raw}`),
  attack("exhausted", "query")(`SELECT 'aaaaaaaaaa' AS a0, ${doubled}, length(a40) FROM ${raw}`),
  attack(
    "exhausted",
    "query",
  )(
    `SELECT sum(1) FROM ${Array.from({ length: 24 }, (_, i) => `(SELECT arrayJoin([1,2,3,4,5,6,7,8]) AS x${i} FROM ${raw}) AS t${i}`).join(", ")}`,
  ),
  attack(
    "exhausted",
    "query",
  )(
    `SELECT ${arrays(16)
      .map((call, i) => `${call} AS x${i}`)
      .join(", ")} FROM ${raw}`,
  ),
  attack(
    "exhausted",
    "query",
  )(
    `SELECT count() FROM (SELECT ${arrays(12)
      .map((call, i) => `${call} AS x${i}`)
      .join(", ")} FROM ${raw})`,
  ),
  attack("exhausted", "query")(`SELECT time AS t FROM ${raw} ORDER BY t WITH FILL FROM 0 TO 9000000000000000000 STEP 1`),
  attack("exhausted", "query")(`WITH RECURSIVE r AS (SELECT 1 AS x FROM ${raw} UNION ALL SELECT x + 1 FROM r) SELECT sum(x) FROM r`),
  attack(
    "exhausted",
    "query",
  )(
    `SELECT groupArray(a.x + b.x * c.x) FROM ${["a", "b", "c"].map((t) => `(SELECT arrayJoin([${Array.from({ length: 400 }, (_, i) => i).join(",")}]) AS x FROM ${raw}) AS ${t}`).join(", ")}`,
  ),
  attack("exhausted", "query", { rows: [] })(`SELECT key_id FROM ${raw} WHERE key_id LIKE '${"%a".repeat(2_000)}%'`),
];

/** Tables that exist beside those of the procedures, and how a quoted name spells them. */
const otherNames = [
  ...["key_verifications_to_day", "key_verifications_to_minute", "ratelimits_to_hour", "migrations", "isolation_probe"],
  ...["latchkey.key_verifications_v1", "latchkey_internal.migrations", "system.processes", "system.tables", "default.x"],
];

/** The name of a CTE is valid only in its scope: not within the CTE itself, not before it, and not in a sibling query. */
const cteNames: readonly string[] = otherNames.flatMap((name) => {
  const quoted = `\`${name}\``;
  return [
    `WITH ${quoted} AS (SELECT * FROM ${name}) SELECT * FROM ${quoted}`,
    `WITH ${quoted} AS (SELECT * FROM ${quoted}) SELECT count() AS n FROM ${quoted}`,
    `SELECT b.* FROM ${raw} AS a, ${name} AS b WHERE (WITH ${quoted} AS (SELECT 1 AS count FROM ${raw}) SELECT max(count) FROM ${quoted}) = 1`,
    `SELECT b.* FROM ${raw} AS a, ${name} AS b WHERE EXISTS (WITH ${quoted} AS (SELECT 1 AS count FROM ${raw}) SELECT 1 FROM ${quoted})`,
    `SELECT s.n AS n FROM (WITH ${quoted} AS (SELECT 1 AS n FROM ${raw}) SELECT n FROM ${quoted}) AS s, ${name} AS b`,
    `SELECT count() AS n FROM ${name} UNION ALL WITH ${quoted} AS (SELECT 1 AS n FROM ${raw}) SELECT n FROM ${quoted}`,
    `WITH other AS (SELECT 1 AS n FROM ${name}), ${quoted} AS (SELECT 1 AS n FROM ${raw}) SELECT n FROM other`,
  ];
});

/** Attempts to see, touch or use up what a query must not. */
export const attacks: Readonly<Record<string, readonly Attack[]>> = {
  "other tables": otherTables,
  "names of CTEs": cteNames.map((sql) => ({ sql, outcomes: ["query", "table"] })),
  "nested SETTINGS": settings,
  "table functions": tableFunctions,
  functions,
  "names that are no columns": identifiers,
  "calls of what is syntax": calls,
  "times in tuples": timeTuples,
  "other statements": statements,
  "texts that are not what they seem": texts,
  "rows outside the scope": confined,
  exhaustion: exhausting,
};
