import { describe, expect, test } from "vitest";
import { UsageGranularity } from "../../gen/latchkey/v2/analytics_pb.ts";
import { allowedFunction } from "../../src/features/analytics/sql/functions.ts";
import { queryFunctions } from "../../src/features/analytics/sql/queryFunctions.ts";
import { columnsOf, ratelimits, rawColumns, verifications } from "../../src/features/analytics/tables/schema.ts";
import { fileText } from "../../ui/src/data/files/fileText.ts";
import { linesSql, rankingSql } from "../../ui/src/pages/analytics/usageSql.ts";
import { eventKinds, readEventKind, readFilters } from "../../ui/src/pages/analytics/usageView.ts";
import { sqlCompletions } from "../../ui/src/pages/sql/completions.ts";
import { asksForRatelimits, type EventTable, ratelimitTables, verificationTables } from "../../ui/src/pages/sql/eventTables.ts";
import { resultChart } from "../../ui/src/pages/sql/resultShape.ts";

describe("[console §3] completion knows tables, columns and allowed functions", () => {
  test.each([
    [verifications, verificationTables],
    [ratelimits, ratelimitTables],
  ] as const)("the tables and columns are those of the service: $name", (dataset, tables: readonly EventTable[]) => {
    expect(tables.map(({ name }) => name)).toEqual(dataset.tables);
    expect(tables[0]?.columns.toSorted()).toEqual(
      rawColumns(dataset)
        .map((column) => column.replaceAll("`", ""))
        .sort(),
    );
    expect(new Set(tables.flatMap(({ columns }) => columns))).toEqual(columnsOf(dataset));
  });

  test("every function that is offered is allowed", () => {
    expect(queryFunctions.filter((name) => allowedFunction(name) !== name)).toEqual([]);
  });

  test("columns are those of the table that the query names; one that is a keyword is quoted", () => {
    const labels = sqlCompletions("SELECT  FROM ratelimits_v1").filter(({ type }) => type === "column");
    expect(labels).toContainEqual({ label: "limit", type: "column", apply: "`limit`" });
    expect(labels.map(({ label }) => label)).not.toContain("outcome");
    expect(sqlCompletions("").map(({ label }) => label)).toEqual(expect.arrayContaining(["outcome", "identifier", "countIf"]));
  });

  test("the table that a query names says which procedure answers it", () => {
    expect(asksForRatelimits("select * from ratelimits_per_day_v1")).toBe(true);
    expect(asksForRatelimits("select 'ratelimits' from key_verifications_v1")).toBe(false);
  });
});

describe("[console §3] a result is drawn as it can be", () => {
  test("times make lines, one for each name", () => {
    const rows = [
      { interval_start: "2026-11-23T04:00:00Z", outcome: "VALID", count: 2 },
      { interval_start: "2026-11-23T05:00:00Z", outcome: "VALID", count: 3 },
      { interval_start: "2026-11-23T05:00:00Z", outcome: "DISABLED", count: 1 },
    ];
    expect(resultChart(rows)).toEqual({
      kind: "lines",
      times: [Date.UTC(2026, 10, 23, 4), Date.UTC(2026, 10, 23, 5)],
      series: [
        { name: "VALID", values: [2, 3] },
        { name: "DISABLED", values: [undefined, 1] },
      ],
    });
  });

  test("several numbers are a line each", () => {
    expect(resultChart([{ time: 1_790_000_000_000, p50: 1, p99: null }])).toMatchObject({ series: [{ name: "p50" }, { name: "p99" }] });
  });

  test("names make bars; without names or numbers there is nothing to draw", () => {
    expect(resultChart([{ key_id: "key_1", count: 4 }])).toMatchObject({ kind: "bars", bars: [{ name: "key_1", value: 4 }] });
    expect(resultChart([{ key_id: "key_1" }])).toBeUndefined();
    expect(resultChart([{ count: 4 }])).toBeUndefined();
    expect(resultChart([])).toBeUndefined();
  });
});

describe("[console §3] figures open as SQL", () => {
  const [kind, checks] = eventKinds;
  const range = { start: 5n, end: 9n, granularity: UsageGranularity.HOUR };

  test("with their range and filters, whatever the filters contain", () => {
    const filters = readFilters(new URLSearchParams("keyId=key_1&tag=it's \\&identifier=ada"), kind);
    const sql = linesSql(kind, range, filters);
    expect(sql).toContain("WHERE time >= 5\n  AND time < 9\n  AND key_id = 'key_1'\n  AND has(tags, 'it\\'s \\\\')");
    expect(sql).toContain("toStartOfHour(");
    expect(sql).not.toContain("ada");
  });

  test("rankings have a limit, and tags are counted singly", () => {
    expect(rankingSql(kind, range, {}, "tag")).toContain("arrayJoin(tags) AS tag");
    expect(rankingSql(checks, range, {}, "identifier")).toMatch(/FROM ratelimits_v1[\s\S]*LIMIT 20$/);
    expect(readEventKind(new URLSearchParams("kind=nonsense"))).toBe(kind);
  });
});

describe("files", () => {
  test("CSV has all columns, quotes what has to be quoted, and disarms formulas", () => {
    expect(fileText("CSV", [{ a: 'say "hi", you' }, { a: "=1+1", b: -1, c: ["x"] }, { a: null, b: true }])).toBe(
      'a,b,c\r\n"say ""hi"", you",,\r\n\'=1+1,-1,"[""x""]"\r\n,true,\r\n',
    );
  });

  test("NDJSON is a row a line", () => {
    expect(fileText("NDJSON", [{ a: 1 }, { b: "\n" }])).toBe('{"a":1}\n{"b":"\\n"}\n');
  });
});
