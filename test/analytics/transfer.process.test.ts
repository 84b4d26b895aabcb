// @same-on-every-engine
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand, serveHere } from "../../bench/harness/commandLine.ts";
import { spawnLatchkey } from "../../bench/harness/latchkeyProcess.ts";
import type { ClickHouse } from "../../src/features/analytics/clickhouse.ts";
import { connectEmbedded, connectServer } from "../../src/features/analytics/connection.ts";
import { latestOf } from "../../src/features/analytics/tables/migrateTables.ts";
import { eventTables } from "../../src/features/analytics/transfer/eventTables.ts";
import { exportEvents } from "../../src/features/analytics/transfer/exportEvents.ts";
import { checkExport, importEvents } from "../../src/features/analytics/transfer/importEvents.ts";
import type { ExportManifest } from "../../src/features/analytics/transfer/manifest.ts";
import { embeddedFiles } from "../../src/features/analytics/transfer/tableFiles.ts";
import { startParquetServer } from "../support/parquetServer.ts";
import { sized } from "../support/sized.ts";
import { embedded, type Place, seed, server } from "./places.ts";

const DAY = 86_400_000;
const EVENTS = 40;
const schema = { cluster: undefined, workspaceId: "ws_default", expire: true };

const directories: string[] = [];
const fresh = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-transfer-"));
  directories.push(directory);
  return directory;
};

/** All that is moved, row by row. */
const contentsOf = async ({ query }: Pick<ClickHouse, "query">): Promise<Record<string, string[]>> => {
  const contents: Record<string, string[]> = {};
  for (const { name, events } of eventTables) {
    const final = events === "count()" ? "" : " FINAL";
    const rows = await query(`SELECT * FROM latchkey.${name}${final} ORDER BY ALL FORMAT JSONEachRow`, { maxBytes: 10_000_000 });
    contents[name] = rows.trimEnd().split("\n");
  }
  return contents;
};

/** Uses the engine of a place while no service has it open. */
const lookAt = async <T>(place: Place, use: (clickhouse: ClickHouse) => Promise<T>): Promise<T> => {
  const { clickhouseUrl: url, directory, memory } = place.options;
  const connection =
    url === undefined ? connectEmbedded({ directory, memory, schema, onDeath: () => undefined }) : connectServer({ url, schema });
  try {
    await connection.ready();
    return await use(connection.clickhouse);
  } finally {
    await connection.close();
  }
};

const envOf = ({ env }: Place): Record<string, string> => ({
  ANALYTICS_MEMORY: "512MiB",
  ...Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
});

/** Events of several days and months, and sums of events that are gone. @returns all that there is then */
const fill = async (place: Place): Promise<Record<string, string[]>> => {
  const now = Date.now();
  await seed(place, {
    verifications: Array.from({ length: EVENTS }, (_, i) => ({
      requestId: `req_${i}`,
      time: now - (i % 3) * 20 * DAY,
      keyId: `key_${i % 5}`,
      tags: i % 2 === 0 ? [] : ["a", "b 'quoted'"],
      outcome: i % 3 === 0 ? "RATE_LIMITED" : "VALID",
      spentCredits: i,
    })),
    ratelimits: Array.from({ length: EVENTS }, (_, i) => ({ requestId: `req_l${i}`, time: now - (i % 2) * DAY, identifier: `ü ${i}` })),
  });
  const month = new Date(now - 400 * DAY).toISOString().slice(0, 7);
  return lookAt(place, async (clickhouse) => {
    await clickhouse.command(
      `INSERT INTO latchkey.key_verifications_per_month_v1 (time, workspace_id, key_space_id, key_id, outcome, count, spent_credits) VALUES ('${month}-01', 'ws_default', 'api_1', 'key_old', 'VALID', 77, 5)`,
    );
    return contentsOf(clickhouse);
  });
};

describe("events that travel", () => {
  const places: Place[] = [];
  const open = async (way: typeof embedded): Promise<Place> => {
    const place = await way.open();
    places.push(place);
    return place;
  };
  let source: Place;
  let env: Record<string, string>;
  /** Whole, of `source`. */
  let exported: string;
  let wanted: Record<string, string[]>;
  beforeAll(async () => {
    source = await open(embedded);
    env = envOf(source);
    wanted = await fill(source);
    exported = join(fresh(), "export");
    const { code, printed, complained } = await runCommand(["analytics", "export", exported], env);
    expect([code, complained]).toEqual([0, []]);
    expect(printed).toEqual([expect.stringMatching(/export: \d+ files, [\d,]+ bytes, of the embedded engine in /)]);
  });
  afterAll(async () => {
    await Promise.all(places.map((place) => place.close()));
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });

  const manifestOf = (directory: string): ExportManifest => JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8"));

  test("[data §3] from the embedded engine to a ClickHouse server and back, row by row, also sums of events that are gone", async () => {
    const clickhouse = await open(server);
    const parquet = await startParquetServer(clickhouse.options.clickhouseUrl ?? "");
    const there = { CLICKHOUSE_URL: parquet.url, DATA_DIR: fresh() };
    const imported = await runCommand(["analytics", "import", exported], there);
    expect(imported).toMatchObject({
      code: 0,
      complained: [],
      printed: [expect.stringMatching(/: 80 events and the sums of \d+ files, taken /)],
    });
    expect(await lookAt(clickhouse, contentsOf)).toEqual(wanted);
    const second = join(fresh(), "second");
    expect(await runCommand(["analytics", "export", second], there)).toMatchObject({ code: 0, complained: [] });
    await parquet.close();
    const back = await open(embedded);
    expect(await runCommand(["analytics", "import", second], envOf(back))).toMatchObject({ code: 0, complained: [] });
    expect(await lookAt(back, contentsOf)).toEqual(wanted);
  });

  test("[data §3] an export that dies after any of its statements is ended by the next, and so is an import, with each event once", async () => {
    const target = await open(server);
    const { clickhouseUrl: url = "" } = target.options;
    const connection = connectServer({ url, schema });
    const tables = latestOf({ ...schema, database: "latchkey" });
    /** Dies after `left` statements that change something, before or after the last one. */
    const mortal = (left: number, clickhouse: ClickHouse): ClickHouse => {
      let rest = left;
      return {
        ...clickhouse,
        command: async (sql, options) => {
          if (rest-- <= 0) throw new Error("the process died");
          await clickhouse.command(sql, options);
          if (rest <= 0 && left % 2 === 0) throw new Error("the process died");
        },
      };
    };
    /** @param more statements that each attempt lives longer than the one before it. */
    const repeat = async <T>(
      run: (clickhouse: ClickHouse) => Promise<T>,
      more: number,
    ): Promise<{ readonly result: T; readonly deaths: number }> => {
      for (let deaths = 0; ; deaths++) {
        try {
          return { result: await run(mortal(4 + deaths * more + (deaths % 2), connection.clickhouse)), deaths };
        } catch (error) {
          expect(error).toHaveProperty("message", "the process died");
        }
      }
    };
    try {
      await connection.ready();
      const base = { database: "latchkey" };
      const whole = { directory: exported, checked: await checkExport(exported, tables) };
      const imported = await repeat(
        (clickhouse) => importEvents({ ...base, clickhouse, ...whole, files: embeddedFiles(clickhouse) }),
        // A month needs one attempt per file, and a few more.
        3,
      );
      expect(imported.result).toBe(2 * EVENTS);
      expect(imported.deaths).toBeGreaterThan(5);
      expect(await contentsOf(connection.clickhouse)).toEqual(wanted);
      const left = "SELECT count() FROM system.tables WHERE database = 'latchkey_internal' AND name LIKE 'import%' FORMAT TabSeparated";
      expect((await connection.clickhouse.query(left, { maxBytes: 1_000 })).trim()).toBe("0");

      const directory = join(fresh(), "export");
      const header = { product: "test", tables, takenAt: 1, source: "the test" };
      const again = await repeat(
        // A day is in several files.
        (clickhouse) => exportEvents({ ...base, clickhouse, files: embeddedFiles(clickhouse), directory, header, rowsPerFile: 10 }),
        0,
      );
      expect(again.deaths).toBeGreaterThan(5);
      expect(again.result.files.some(({ of }) => of > 1)).toBe(true);
      expect(existsSync(join(directory, "plan.json"))).toBe(false);
      await connection.clickhouse.command("TRUNCATE ALL TABLES FROM latchkey");
      const checked = await checkExport(directory, tables);
      const { clickhouse } = connection;
      await importEvents({ ...base, clickhouse, files: embeddedFiles(clickhouse), directory, checked });
      expect(await contentsOf(connection.clickhouse)).toEqual(wanted);
    } finally {
      await connection.close();
    }
  });

  test("[data §3] commands that are killed at any moment and repeated come to the same end", async () => {
    const target = await open(embedded);
    const directory = join(fresh(), "export");
    for (const [command, settings] of [
      ["export", env],
      ["import", envOf(target)],
    ] as const) {
      for (let kills = 0; kills < sized(1, 10); kills++) {
        const child = spawnLatchkey(["analytics", command, directory], settings);
        const ended = new Promise((resolve) => child.once("close", resolve));
        await sleep(700 + Math.random() * 1_500);
        child.kill("SIGKILL");
        await ended;
      }
      // The engine of the last one ends a moment after it.
      await expect
        .poll(async () => {
          const { code, complained } = await runCommand(["analytics", command, directory], settings);
          return code === 0 || /is whole already|already: import into empty/.test(complained.join());
        })
        .toBe(true);
    }
    expect(await lookAt(target, contentsOf)).toEqual(wanted);
  });

  test("[data §3] tables that hold events of the same months are left alone", async () => {
    const { code, complained } = await runCommand(["analytics", "import", exported], env);
    expect([code, complained]).toEqual([
      5,
      [
        expect.stringMatching(
          /^latchkey: latchkey\.key_verifications_v1 holds events of \d{4}-\d\d already: import into empty tables, before nodes/,
        ),
      ],
    ]);
    expect(await lookAt(source, contentsOf)).toEqual(wanted);
  });

  test("[data §3] a mismatch is refused with one sentence", async () => {
    const target = envOf(await open(embedded));
    const refused = async (args: readonly string[], settings: Record<string, string>, sentence: RegExp): Promise<void> => {
      const { code, complained } = await runCommand(["analytics", ...args], settings);
      expect([code, complained]).toEqual([5, [expect.stringMatching(sentence)]]);
    };
    await refused(["export", exported], env, /holds an export that is whole already: name another directory$/);
    const full = fresh();
    writeFileSync(join(full, "mine.txt"), "mine");
    await refused(["export", full], env, /is not empty: name another directory$/);
    await refused(["import", full], target, /holds no export that is whole: repeat "latchkey analytics export" until it ends$/);
    await refused(
      ["import", exported],
      { ...target, ANALYTICS: "off" },
      /there are no analytics: set ANALYTICS=embedded or CLICKHOUSE_URL/,
    );

    const manifest = manifestOf(exported);
    const [first] = manifest.files;
    const path = join(exported, first?.file ?? "");
    const content = readFileSync(path);
    const variants: readonly [() => void, RegExp][] = [
      [
        () => writeFileSync(join(exported, "manifest.json"), JSON.stringify({ ...manifest, tables: 1 })),
        /has tables of version 1, this version of Latchkey has 2: import it with version /,
      ],
      [
        () => writeFileSync(join(exported, "manifest.json"), JSON.stringify({ ...manifest, format: "latchkey-analytics-9" })),
        /has the form latchkey-analytics-9, this version reads /,
      ],
      [() => writeFileSync(path, content.subarray(1)), /is missing or was cut off: copy the export again/],
      [() => writeFileSync(path, Buffer.from(content).fill(0, 0, 9)), /was altered: copy the export again/],
    ];
    const text = readFileSync(join(exported, "manifest.json"), "utf8");
    for (const [spoil, sentence] of variants) {
      spoil();
      await refused(["import", exported], target, sentence);
      writeFileSync(join(exported, "manifest.json"), text);
      writeFileSync(path, content);
    }
    expect(await runCommand(["analytics", "import", exported], target)).toMatchObject({ code: 0 });
  });

  test("[data §3] a service that has the embedded engine has to be stopped first", async () => {
    const dataDir = fresh();
    await using _service = await serveHere(dataDir);
    const settings = { DATA_DIR: dataDir, ANALYTICS: "embedded" };
    const taken = await runCommand(["analytics", "export", join(fresh(), "export")], settings);
    expect(taken).toMatchObject({ code: 5, complained: [expect.stringMatching(/has the embedded engine: stop it first$/)] });
    const put = await runCommand(["analytics", "import", exported], settings);
    expect(put).toMatchObject({ code: 5, complained: ["latchkey: 1 service may write events there: stop what is running first"] });
  });
});
