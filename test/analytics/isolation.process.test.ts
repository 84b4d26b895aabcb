// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClickHouse, openClickHouse } from "../../src/features/analytics/clickhouse.ts";
import type { Analytics } from "../../src/features/analytics/createAnalytics.ts";
import { migrate } from "../../src/features/analytics/tables/migrateTables.ts";
import { ServiceError } from "../../src/platform/base/errors.ts";
import { WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import { sized } from "../support/sized.ts";
import { type Probe, probes } from "./isolationAttacks.ts";
import { openAnalytics, server } from "./places.ts";

/** Rows of each of three key spaces, and of each of three namespaces. */
const ROWS = 60;
/** Beyond a granule, in a part that holds nothing of the scope. */
const CROWD = 20_000;
const now = Date.now();
const DAY = 86_400_000;

/** The values in rows of others. Their lengths are equal, so that both cost as much to read. */
interface Others {
  readonly externalId: string;
  readonly keyId: string;
  readonly tag: string;
  readonly outcome: string;
  readonly credits: number;
}

/** The rows of the scope are the same everywhere; what others have differs, and what of it fails to be a number. */
const worlds: Readonly<Record<string, Others | undefined>> = {
  alone: undefined,
  first: { externalId: "theirs_a", keyId: "key_their", tag: "their", outcome: "VALID", credits: 43 },
  second: { externalId: "00000007", keyId: "000000077", tag: "00042", outcome: "FUNNY", credits: 41 },
};

const literal = (text: string): string => `'${text}'`;

const verificationsOf = (
  scope: string,
  { externalId, keyId, tag, outcome, credits }: Others,
  rows: number,
  time: string,
): readonly string[] => [
  "INSERT INTO $.key_verifications_v1 (request_id, time, key_space_id, identity_id, external_id, key_id, outcome, tags, spent_credits, latency) " +
    `SELECT concat('req_', toString(100000 + number)), ${time}, ${literal(scope)}, '', ${literal(externalId)}, ${literal(keyId)}, ` +
    `${literal(outcome)}, [${literal(tag)}], ${credits}, 1 FROM numbers(${rows})`,
];
const checksOf = (scope: string, { externalId, keyId }: Others, rows: number, time: string): readonly string[] => [
  "INSERT INTO $.ratelimits_v1 (request_id, time, namespace_id, identifier, passed, latency, override_id, `limit`, remaining, reset_at, tokens) " +
    `SELECT concat('req_', toString(100000 + number)), ${time}, ${literal(scope)}, ${literal(externalId)}, 1, 1, ${literal(keyId)}, 10, 9, ${now}, 1 ` +
    `FROM numbers(${rows})`,
];

const mine: Others = { externalId: "mine", keyId: "key_mine", tag: "own", outcome: "VALID", credits: 1 };

/** INSERTs of a world: others before, between and behind the scope in its granule; in its part; in other parts; forgotten rows. */
const rowsOf = (others: Others | undefined): readonly string[] => {
  const recently = `${now} - 1000 * number - 1000`;
  const own = [...verificationsOf("api_mine", mine, ROWS, recently), ...checksOf("rlns_mine", mine, ROWS, recently)];
  if (!others) return own;
  return [
    ...own,
    ...["a", "z"].flatMap((name) => [
      ...verificationsOf(`api_${name}`, others, ROWS, recently),
      ...checksOf(`rlns_${name}`, others, ROWS, recently),
    ]),
    ...verificationsOf("api_a", others, CROWD, `${now - 3 * DAY} - number`),
    ...verificationsOf("api_z", others, ROWS, `${now - 29 * DAY} - number`),
    ...verificationsOf("api_mine", others, ROWS, `${now - 75 * DAY} - number`),
  ];
};

/** Totals of the engine that follow from the rows that a query works on. */
const countedEvents = ["SelectedRows", "SelectedBytes", "SelectedMarks", "FilterTransformPassedRows", "FilterTransformPassedBytes"];

/** Texts that occur only in rows of others. */
const ofOthers = /theirs_a|key_their|00000007|000000077|00042|FUNNY/;
/** Queries that are asked at once, and whose work is counted together. */
const BATCH = 6;

interface World {
  readonly analytics: Analytics;
  readonly clickhouse: ClickHouse;
  readonly close: () => Promise<void>;
}

/** On an engine of its own, to whose totals no other world adds: so all can be asked at the same time. */
const openWorld = async (name: string, others: Others | undefined): Promise<World> => {
  const place = await server.open();
  const clickhouse = openClickHouse({ url: place.options.clickhouseUrl ?? "", database: "default", timeoutMs: 60_000 });
  await migrate(clickhouse, { database: name, cluster: undefined, workspaceId: WORKSPACE_ID, expire: false });
  // As parts are once they are large; the last one is as small parts are.
  const wide = (isWide: boolean) => (isWide ? "MODIFY SETTING min_bytes_for_wide_part = 0" : "RESET SETTING min_bytes_for_wide_part");
  await clickhouse.command(`ALTER TABLE ${name}.key_verifications_v1 ${wide(true)}`);
  for (const insert of rowsOf(others)) await clickhouse.command(insert.replace("$", name));
  for (const table of ["key_verifications_v1", "ratelimits_v1"]) await clickhouse.command(`OPTIMIZE TABLE ${name}.${table} FINAL`);
  for (const step of ["minute", "hour", "day", "month"]) {
    await clickhouse.command(`OPTIMIZE TABLE ${name}.key_verifications_per_${step}_v1 FINAL`);
  }
  await clickhouse.command("SYSTEM STOP MERGES");
  await clickhouse.command(`ALTER TABLE ${name}.key_verifications_v1 ${wide(false)}`);
  // One more part, without anything of the scope.
  if (others)
    for (const insert of verificationsOf("api_z", others, ROWS, `${now - DAY} - number`))
      await clickhouse.command(insert.replace("$", name));
  const options = { ...place.options, clickhouseUrl: `${place.options.clickhouseUrl}/${name}` };
  const limits = { querySeconds: 60, rowsRead: 10_000_000, queriesPerHour: 1e6, secondsPerHour: 1e6 };
  const analytics = openAnalytics({ options }, { limits });
  const close = async (): Promise<void> => {
    await analytics.stop();
    await clickhouse.close();
    await place.close();
  };
  return { analytics, clickhouse, close };
};

describe("a scoped query", () => {
  let opened: World[] = [];
  beforeAll(async () => {
    opened = await Promise.all(Object.entries(worlds).map(([name, others]) => openWorld(name, others)));
  });
  afterAll(() => Promise.all(opened.map(({ close }) => close())));

  /** All that a caller gets. */
  const ask = async ({ analytics }: World, { sql, dataset }: Probe): Promise<string> => {
    const scope = [dataset.scopeColumn === "key_space_id" ? "api_mine" : "rlns_mine"];
    const query = { sql, dataset, scope, now, signal: AbortSignal.timeout(60_000) };
    const rows = await analytics.query(query).catch((error: unknown) => error);
    return rows instanceof ServiceError
      ? `${rows.reason}: ${rows.message}`
      : rows instanceof Error
        ? `${rows.stack}`
        : JSON.stringify(rows);
  };

  const counters = async ({ clickhouse }: World): Promise<number[]> => {
    const sums = countedEvents.map((event) => `sumIf(value, event = ${literal(event)})`).join(", ");
    const sql = `SELECT ${sums} FROM system.events SETTINGS system_events_show_zero_values = 1 FORMAT TabSeparated`;
    return (await clickhouse.query(sql, { maxBytes: 10_000 })).trim().split("\t").map(Number);
  };

  interface Outcome {
    readonly answers: readonly string[];
    /** Work of the engine for all of them together. */
    readonly work: readonly number[];
  }
  const askAll = async (world: World, some: readonly Probe[]): Promise<Outcome> => {
    const before = await counters(world);
    const all = await Promise.all(some.map((probe) => ask(world, probe)));
    const after = await counters(world);
    return { answers: all, work: after.map((value, i) => value - (before[i] ?? 0)) };
  };

  const list = Object.values(probes).flat();

  test("is attacked in at least 200 ways", () => {
    expect(new Set(list.map(({ sql }) => sql)).size).toBeGreaterThanOrEqual(200);
  });

  const batches = Object.entries(probes).flatMap(([name, some]) =>
    Array.from({ length: Math.ceil(some.length / BATCH) }, (_, i) => [name, some.slice(i * BATCH, (i + 1) * BATCH)] as const),
  );
  const asked = sized(
    batches.filter((_, i) => i % 4 === 0),
    batches,
  );
  let answered = 0;
  test.each(asked)("answers and works the same, whatever the rows of others hold: %s", async (_, some) => {
    const [alone, first, second] = (await Promise.all(opened.map((world) => askAll(world, some)))) as [Outcome, Outcome, Outcome];
    const sqls = some.map(({ sql }) => sql);
    const differing = sqls.filter((__, i) => new Set([alone.answers[i], first.answers[i], second.answers[i]]).size > 1);
    const showing = sqls.filter((sql, i) =>
      [alone, first, second].some((outcome) => ofOthers.test((outcome.answers[i] ?? "").replaceAll(sql, ""))),
    );
    const ended = alone.answers.filter((answer) => answer.startsWith("["));
    answered += ended.length;
    // How far a query that fails has come by then is chance.
    const isSameWork = ended.length < some.length || JSON.stringify(first.work) === JSON.stringify(second.work);
    const working = isSameWork ? [] : [sqls, first.work, second.work];
    expect({ differing, showing, working }).toEqual({ differing: [], showing: [], working: [] });
  });

  test("has an answer to most of them", () => {
    expect(answered).toBeGreaterThanOrEqual(sized(50, 200));
  });
});
