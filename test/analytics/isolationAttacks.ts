import { type Dataset, ratelimits, verifications } from "../../src/features/analytics/tables/schema.ts";

/** A query that would reveal rows outside its scope if its expressions were evaluated on them. */
export interface Probe {
  readonly sql: string;
  readonly dataset: Dataset;
}

/** A text of some kilobytes on rows of others, made of their own values. */
const doubled = (times: number): string => {
  let text = "if(startsWith(external_id, 'theirs'), external_id, '')";
  for (let i = 0; i < times; i++) text = `concat(${text}, ${text})`;
  return text;
};

/** On rows of the scope a harmless number; on others it fails, or takes memory, as their values are. */
const expressions = {
  cast: "if(external_id = 'mine', 0, toInt64(external_id))",
  division: "1 DIV if(external_id = 'mine', 1, 0) - 1",
  modulo: "10 % if(external_id LIKE 'mine%', 1, 0)",
  castOfAll: "toInt64(if(external_id = 'mine', '0', external_id))",
  caseWhen: "CASE WHEN external_id = 'mine' THEN 0 ELSE toInt32(external_id) END",
  lambda: "length(arrayFilter(x -> 1 DIV if(x = 'own', 1, 0) = 2, tags))",
  json: `toInt32(JSONExtractString(concat('{"a":"', if(external_id = 'mine', '0', external_id), '"}'), 'a'))`,
  date: "if(external_id = 'mine', 0, length(toString(toDate(external_id))))",
  time: "if(external_id = 'mine', 0, length(toString(toDateTime64(external_id, 3))))",
  float: "if(external_id = 'mine', 0, toFloat64(external_id))",
  narrow: "if(external_id = 'mine', 0, toInt32(key_id))",
  overflow: "toInt64(-9223372036854775807 - 1) DIV if(external_id = 'mine', 1, if(external_id = '00000007', 1, -1)) * 0",
  element: "toInt64(if(external_id = 'mine', '0', tags[1]))",
  memory: `length(arrayJoin(if(startsWith(external_id, 'theirs'), [${doubled(6)}, external_id], ['']))) * 0`,
};

const raw = "key_verifications_v1";

type Context = (e: string, table: string) => string;

/** Where a query may hold an expression `e`. */
const contexts: readonly Context[] = [
  (e, t) => `SELECT count() AS n FROM ${t} WHERE ${e} = 0`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE key_id != '' AND ${e} >= 0`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE ${e} = 0 OR key_id = 'x'`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE NOT (${e} = 1)`,
  (e, t) => `SELECT sum(${e}) AS n FROM ${t}`,
  (e, t) => `SELECT countIf(${e} = 0) AS n FROM ${t}`,
  (e, t) => `SELECT max(${e}) AS n FROM ${t} HAVING n >= 0`,
  (e, t) => `SELECT ${e} AS e, count() AS n FROM ${t} GROUP BY e ORDER BY e`,
  (e, t) => `SELECT ${e} AS e FROM ${t} ORDER BY e DESC LIMIT 2`,
  (e, t) => `SELECT key_id FROM ${t} ORDER BY ${e}, time LIMIT 3`,
  (e, t) => `SELECT ${e} AS e, time FROM ${t} ORDER BY time DESC LIMIT 3`,
  (e, t) => `SELECT DISTINCT ${e} AS e FROM ${t}`,
  (e, t) => `SELECT key_id FROM ${t} ORDER BY key_id LIMIT 1 BY ${e}`,
  (e, t) => `SELECT count() AS n FROM (SELECT ${e} AS e FROM ${t}) WHERE e = 0`,
  (e, t) => `SELECT count() AS n FROM (SELECT * FROM ${t}) WHERE ${e} = 0`,
  (e, t) => `SELECT count() AS n FROM (SELECT * FROM (SELECT external_id, key_id, tags FROM ${t})) AS s WHERE ${e} = 0`,
  (e, t) => `WITH a AS (SELECT ${e} AS e FROM ${t}) SELECT sum(e) AS n FROM a`,
  (e, t) => `WITH a AS (SELECT * FROM ${t} WHERE ${e} = 0) SELECT (SELECT count() FROM a) AS n, count() AS m FROM a`,
  (e, t) => `WITH ${e} AS e SELECT count() AS n FROM ${t} WHERE e = 0`,
  (e, t) => `SELECT count() AS n FROM (SELECT ${e} AS e FROM ${t}) AS a JOIN (SELECT ${e} AS e FROM ${t} LIMIT 2) AS b USING (e)`,
  (e, t) =>
    `SELECT count() AS n FROM ${t} AS a LEFT JOIN (SELECT key_id, ${e} AS e FROM ${t} LIMIT 1) AS b ON a.key_id = b.key_id WHERE e = 0`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE 0 IN (SELECT ${e} FROM ${t})`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE ${e} NOT IN (SELECT ${e} FROM ${t})`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE EXISTS (SELECT 1 FROM ${t} WHERE ${e} = 1)`,
  (e, t) => `SELECT any((SELECT sum(${e}) FROM ${t})) AS n FROM ${t}`,
  (e, t) => `SELECT count() AS n FROM (SELECT ${e} AS e FROM ${t} UNION ALL SELECT 1 AS e FROM ${t} WHERE ${e} = 1)`,
  (e, t) => `SELECT ${e} AS e FROM ${t} INTERSECT SELECT 0 AS e FROM ${t}`,
  (e, t) => `SELECT 0 AS e FROM ${t} EXCEPT SELECT ${e} AS e FROM ${t}`,
  (e, t) => `SELECT max(w) AS n FROM (SELECT count() OVER (PARTITION BY ${e}) AS w FROM ${t})`,
  (e, t) => `SELECT max(w) AS n FROM (SELECT sum(${e}) OVER (ORDER BY time) AS w FROM ${t})`,
  (e, t) => `SELECT count() AS n FROM ${t} ARRAY JOIN [${e}] AS x WHERE x = 0`,
  (e, t) => `SELECT sum(arrayJoin([${e}, 1])) AS n FROM ${t}`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE if(${e} = 0, 1, 0)`,
  (e, t) => `SELECT quantile(0.5)(${e}) AS n, length(groupArray(${e})) AS m FROM ${t}`,
  (e, t) => `SELECT count() AS n FROM (SELECT * REPLACE (toString(${e}) AS key_id) FROM ${t}) WHERE key_id = '0'`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE time >= now() - INTERVAL 1 DAY AND ${e} = 0`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE key_space_id = 'api_a' AND ${e} = 0`,
  (e, t) => `SELECT count() AS n FROM ${t} WHERE key_space_id != 'api_mine' AND ${e} = 1`,
  (e, t) => `SELECT count() AS n FROM ${t} AS a WHERE a.key_id IN (SELECT b.key_id FROM ${t} AS b WHERE ${e} = 0)`,
  (e, t) => `SELECT count() AS n FROM ${t} PREWHERE ${e} = 0`,
  (e, t) => `SELECT count() AS n FROM ${t} FINAL WHERE ${e} = 0`,
];

/** All contexts for these, a few for the others. */
const everywhere: readonly (keyof typeof expressions)[] = ["cast", "division"];
const few = [0, 4, 7, 13, 19, 25, 28];

const crossed = (Object.keys(expressions) as (keyof typeof expressions)[]).flatMap((name) =>
  contexts.filter((_, i) => everywhere.includes(name) || few.includes(i)).map((context) => context(expressions[name], raw)),
);

const sums = ["minute", "hour", "day", "month"].flatMap((step) =>
  [0, 4, 8, 15, 19, 28].flatMap((i) => contexts[i]?.(expressions[i % 2 ? "division" : "cast"], `key_verifications_per_${step}_v1`) ?? []),
);

/** Filters whose work, and not whose result, would depend on rows of others. */
const byWork = [
  ...["'theirs_a'", "'00000007'", "'mine'"].map((value) => `SELECT count() AS n FROM ${raw} WHERE external_id = ${value}`),
  `SELECT count() AS n FROM ${raw} WHERE external_id LIKE '%a' AND length(concat(key_id, key_id, key_id, key_id)) > 100`,
  `SELECT count() AS n FROM ${raw} WHERE has(tags, 'their')`,
  `SELECT count() AS n FROM ${raw} WHERE arrayJoin(if(external_id LIKE 'theirs%', [1, 2, 3, 4, 5, 6, 7, 8, 9], [1])) = 9`,
  `SELECT sum(x) AS n FROM (SELECT arrayJoin(if(external_id LIKE 'theirs%', [1, 2, 3, 4, 5, 6, 7, 8, 9], [1])) AS x, key_id FROM ${raw})`,
  `SELECT count() AS n FROM ${raw} AS a JOIN ${raw} AS b ON a.external_id = b.external_id WHERE a.time > b.time`,
  `SELECT count() AS n FROM ${raw} AS a JOIN ${raw} AS b ON a.request_id = b.key_id`,
  `SELECT count() AS n FROM ${raw} WHERE external_id IN (SELECT external_id FROM ${raw} WHERE external_id LIKE 'theirs%')`,
  `SELECT uniqExact(external_id) AS n, uniqExact(key_id) AS m FROM ${raw}`,
  `SELECT external_id, key_id FROM ${raw} ORDER BY external_id DESC, key_id DESC LIMIT 1`,
  `SELECT external_id FROM ${raw} ORDER BY spent_credits DESC LIMIT 1`,
  `SELECT min(external_id) AS a, max(external_id) AS b, min(spent_credits) AS c, max(spent_credits) AS d FROM ${raw}`,
  `SELECT request_id FROM ${raw} LIMIT 1`,
  `SELECT count() AS n FROM ${raw} LIMIT 1 OFFSET 1`,
  `SELECT key_space_id, count() AS n FROM ${raw} GROUP BY key_space_id WITH TOTALS`,
  `SELECT key_space_id, count() AS n FROM ${raw} GROUP BY key_space_id WITH ROLLUP`,
  `SELECT count() AS n FROM ${raw} WHERE time = (SELECT max(time) FROM ${raw})`,
  `SELECT count() AS n FROM ${raw} WHERE time < now() - INTERVAL 6 DAY`,
  `SELECT max(key_space_id) AS n FROM ${raw} WHERE key_space_id IN ('api_a', 'api_z')`,
  `SELECT key_id FROM ${raw} WHERE workspace_id != '' GROUP BY key_id HAVING count() > 0 ORDER BY key_id`,
];

const hijack = (operator: string): string[] => [
  `WITH (a, b) -> 1 AS ${operator} SELECT count() AS n FROM ${raw}`,
  `WITH (a, b) -> true AS \`${operator}\` SELECT max(external_id) AS n FROM (SELECT * FROM ${raw})`,
];

/** Names that a query may redefine to change the condition of its scope. */
const byName = [
  ...["in", "and", "or", "equals", "greaterOrEquals", "lessOrEquals", "less", "greater", "tuple"].flatMap(hijack),
  `SELECT count() AS n FROM ${raw} WHERE length(arrayFilter((x -> 1) AS equals, tags)) >= 0`,
  `SELECT arrayFilter(((a, b) -> 1) AS in, tags, tags) AS n FROM ${raw} LIMIT 1`,
  `SELECT (SELECT count() FROM ${raw}) AS n, ((a, b) -> 1) AS in FROM ${raw} LIMIT 1`,
  `WITH 'api_mine' AS key_space_id SELECT count() AS n FROM ${raw}`,
  `WITH 'api_mine' AS key_space_id SELECT count() AS n FROM (SELECT * FROM ${raw})`,
  `WITH 9223372036854775807 AS time SELECT count() AS n FROM (SELECT key_id FROM ${raw})`,
  `WITH ('api_mine', 1) AS own SELECT count() AS n FROM (SELECT key_id FROM ${raw})`,
  `WITH ('api_mine', 1) AS own0 SELECT count() AS n FROM (SELECT key_id FROM ${raw} AS own)`,
  `SELECT count() AS n FROM (SELECT *, 'api_mine' AS key_space_id FROM ${raw})`,
  `SELECT 'api_mine' AS key_space_id, max(external_id) AS n FROM ${raw}`,
  `SELECT count() AS n FROM ${raw} AS latchkey, ${raw} AS key_verifications_per_day_v1`,
  `SELECT count() AS n FROM ${raw} AS x(key_space_id, time)`,
  `WITH latchkey AS (SELECT 1 AS key_verifications_v1 FROM ${raw}) SELECT count() AS n FROM ${raw}`,
  `WITH a AS (SELECT 'api_mine' AS key_space_id FROM ${raw}) SELECT max(b.external_id) AS n FROM a, ${raw} AS b`,
  `SELECT max(key_verifications_v1.external_id) AS n FROM ${raw} AS key_space_id`,
  `SELECT max(key_verifications_v1.external_id) AS n FROM ${raw} AS v WHERE v.external_id != ''`,
  `SELECT count() AS n FROM ${raw} WHERE arrayJoin(arrayFilter(key_space_id -> (SELECT count() FROM ${raw}) > 0, tags)) != ''`,
  `SELECT arrayFilter(key_space_id -> key_space_id IN (SELECT external_id FROM ${raw}), tags) AS n FROM ${raw} LIMIT 1`,
  `SELECT count() AS n FROM ${raw} AS a WHERE EXISTS (SELECT 1 FROM ${raw} AS b WHERE a.external_id != b.external_id)`,
  `SELECT count() AS n FROM ${raw} AS a WHERE EXISTS (SELECT 1 FROM ${raw} WHERE a.time >= 1800000000000000)`,
  `SELECT count() AS n FROM latchkey.${raw}`,
  `SELECT count() AS n FROM ${raw} WHERE key_id IN ${raw}`,
  `SELECT count() AS n FROM ${raw} SAMPLE 1`,
  `SELECT _part AS n FROM ${raw}`,
];

/** Errors that would repeat a value: of a row, or what a subquery made of one. */
const byMessage = [
  `SELECT toInt64(external_id) AS n FROM ${raw}`,
  `SELECT toInt64(max(external_id)) AS n FROM ${raw}`,
  `SELECT toInt64((SELECT max(external_id) FROM ${raw})) AS n FROM ${raw}`,
  `SELECT toDateTime(1, (SELECT max(external_id) FROM ${raw})) AS n FROM ${raw}`,
  `SELECT formatDateTime(now(), (SELECT max(external_id) FROM ${raw}), external_id) AS n FROM ${raw}`,
  `SELECT date_trunc((SELECT max(external_id) FROM ${raw}), now()) AS n FROM ${raw}`,
  `SELECT concat(key_id, (SELECT max(external_id) FROM ${raw})) AS a, count() AS n FROM ${raw} GROUP BY outcome`,
  `SELECT key_id + (SELECT max(external_id) FROM ${raw}) AS n FROM ${raw}`,
  `SELECT count() AS n FROM ${raw} LIMIT (SELECT max(external_id) FROM ${raw})`,
  `SELECT 1 AS n FROM ${raw} WHERE time > (SELECT max(external_id) FROM ${raw})`,
  `SELECT toInt64(tags[1]) AS n FROM ${raw}`,
  `SELECT quantile((SELECT max(spent_credits) + 41.5 FROM ${raw}))(latency) AS n FROM ${raw}`,
  `SELECT toDate(external_id) AS n FROM ${raw}`,
  `SELECT toDateTime(concat('never', external_id)) AS n FROM ${raw}`,
];

const ofLimits = crossed
  .slice(0, contexts.length)
  .filter((_, i) => few.includes(i))
  .map((sql) =>
    sql
      .replaceAll(raw, "ratelimits_v1")
      .replaceAll("external_id", "identifier")
      .replaceAll("key_space_id", "namespace_id")
      .replaceAll("key_id", "override_id")
      .replaceAll("api_", "rlns_")
      .replace(", tags FROM", " FROM"),
  );

const of =
  (dataset: Dataset) =>
  (sql: string): Probe => ({ sql, dataset });

/** Probes, grouped by how they would reveal rows of others. */
export const probes: Readonly<Record<string, readonly Probe[]>> = {
  "an expression that fails on them": [...crossed, ...sums].map(of(verifications)),
  "an expression that fails on checks of them": ofLimits.map(of(ratelimits)),
  "work that they cause": byWork.map(of(verifications)),
  "a name that the condition of the scope goes by": byName.map(of(verifications)),
  "a message": byMessage.map(of(verifications)),
};
