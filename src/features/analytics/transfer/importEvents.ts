import { hash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClickHouse } from "../clickhouse.ts";
import { digestFile } from "./digestFile.ts";
import { columnList, type EventTable, eventTables, monthOf } from "./eventTables.ts";
import { areSoundColumns, isSoundPart } from "./isSoundPart.ts";
import { EXPORT_FORMAT, type ExportedFile, type ExportManifest, fileOf, MANIFEST, readJson, TransferRefusedError } from "./manifest.ts";
import type { TableFiles } from "./tableFiles.ts";

const ANSWER_BYTES = 1024 ** 2;

export interface ImportOptions {
  readonly clickhouse: ClickHouse;
  /** With the tables, which are there. Nobody else writes to it meanwhile. */
  readonly database: string;
  readonly checked: CheckedExport;
  readonly files: TableFiles;
  /** Absolute. */
  readonly directory: string;
  readonly onProgress?: (done: number, of: number) => void;
}

/** Files of one table and month: a month is put into the table as a whole. */
interface Month {
  readonly table: EventTable;
  readonly month: string;
  readonly files: readonly ExportedFile[];
}

/** How far an import has come with a month: with so many events it was about to be put into the table, or it has been. */
interface MonthProgress {
  readonly events: number;
  readonly isDone: boolean;
}

const isSound = ({ files, columns }: ExportManifest): boolean =>
  files.every((part) => isSoundPart(part) && part.file === fileOf(part)) && areSoundColumns(columns);

/** An export that is whole and fits. */
export interface CheckedExport {
  readonly manifest: ExportManifest;
  /** Tells it from all others. */
  readonly id: string;
}

const wasAltered = (file: string): TransferRefusedError =>
  new TransferRefusedError(`${file} was altered: copy the export again, or take another one`);

/**
 * Reads what an export says of itself, without an engine. Rejects with `TransferRefusedError` where it cannot be imported.
 * @param tables version of the tables here
 */
export const checkExport = async (directory: string, tables: number): Promise<CheckedExport> => {
  const file = join(directory, MANIFEST);
  if (!existsSync(file)) {
    throw new TransferRefusedError(`${directory} holds no export that is whole: repeat "latchkey analytics export" until it ends`);
  }
  const text = await readFile(file, "utf8");
  const manifest = readJson<ExportManifest>(text);
  if (manifest === undefined) throw wasAltered(file);
  if (manifest.format !== EXPORT_FORMAT) {
    throw new TransferRefusedError(
      `${file} has the form ${manifest.format}, this version reads ${EXPORT_FORMAT}: import it with a version that does`,
    );
  }
  if (manifest.tables !== tables) {
    throw new TransferRefusedError(
      `the export has tables of version ${manifest.tables}, this version of Latchkey has ${tables}: import it with version ${manifest.product}, then upgrade`,
    );
  }
  if (!isSound(manifest)) throw wasAltered(file);
  for (const { file: name, bytes } of manifest.files) {
    const path = join(directory, name);
    if (!existsSync(path) || statSync(path).size !== bytes) {
      throw new TransferRefusedError(`${path} is missing or was cut off: copy the export again, or take another one`);
    }
  }
  return { manifest, id: hash("sha256", text, "hex") };
};

const monthsOf = ({ files }: ExportManifest): readonly Month[] =>
  eventTables.flatMap((table) =>
    Array.from(
      Map.groupBy(
        files.filter((file) => file.table === table.name),
        monthOf,
      ),
      ([month, some]) => ({ table, month, files: some }),
    ),
  );

/**
 * Puts the events of an export, and their sums, into tables that have none of the same months. A month is loaded beside its table and then
 * takes its place in one step, so nothing is there twice, however often an import is killed and repeated. Rejects with
 * `TransferRefusedError`, having changed no table of events, where a month is not empty.
 * @returns the number of single events; sums are of the same, and of older ones
 */
export const importEvents = async (options: ImportOptions): Promise<number> => {
  const { clickhouse, database, checked, files, directory, onProgress } = options;
  const { manifest, id } = checked;
  const [staging, log] = [`${database}_internal.import_staging`, `${database}_internal.import_progress`];
  const run = (sql: string): Promise<void> => clickhouse.command(sql);
  const ask = async (sql: string): Promise<string> =>
    (await clickhouse.query(`${sql} FORMAT TabSeparated`, { maxBytes: ANSWER_BYTES })).trimEnd();

  const readProgress = async (): Promise<ReadonlyMap<string, MonthProgress>> => {
    const isThere = await ask(`SELECT count() FROM system.tables WHERE database = '${database}_internal' AND name = 'import_progress'`);
    if (isThere === "0") return new Map();
    const others = await ask(`SELECT count() FROM ${log} WHERE export != '${id}'`);
    if (others !== "0") {
      throw new TransferRefusedError(
        `the import of another export into ${database} did not end: repeat that one, or drop the databases ${database} and ${database}_internal and begin anew`,
      );
    }
    const rows = await ask(`SELECT part, max(events), max(done) FROM ${log} GROUP BY part`);
    return new Map(
      rows === ""
        ? []
        : rows.split("\n").map((row) => {
            const [part = "", events, done] = row.split("\t");
            return [part, { events: Number(events), isDone: done === "1" }];
          }),
    );
  };
  const note = (part: string, events: number, done: 0 | 1): Promise<void> =>
    run(`INSERT INTO ${log} (export, part, events, done) VALUES ('${id}', '${part}', ${events}, ${done})`);
  const partOf = ({ table, month }: Month): string => `${table.name} ${month}`;
  const eventsIn = async (place: string, { table, month }: Month): Promise<number> =>
    Number(await ask(`SELECT ${table.events} FROM ${place} WHERE toYYYYMM(${table.day}) = ${month}`));

  /** True where this import has put a month there. Rejects where what is there is of somebody else. */
  const isLoaded = async (each: Month, progress: MonthProgress | undefined): Promise<boolean> => {
    const found = await eventsIn(`${database}.${each.table.name}`, each);
    // Somebody may have emptied the tables since.
    if (progress?.isDone) return found > 0 || progress.events === 0;
    // It may have died between the exchange and its note.
    if (found === 0 || found === progress?.events) return false;
    throw new TransferRefusedError(
      `${database}.${each.table.name} holds events of ${each.month.slice(0, 4)}-${each.month.slice(4)} already: import into empty tables, before nodes write to them`,
    );
  };

  const expectUnaltered = async ({ files: some }: Month): Promise<void> => {
    for (const { file, sha256 } of some) {
      const path = join(directory, file);
      if ((await digestFile(path)).sha256 !== sha256) throw wasAltered(path);
    }
  };

  const load = async (each: Month): Promise<void> => {
    const columns = columnList(manifest.columns[each.table.name] ?? []);
    await run(`DROP TABLE IF EXISTS ${staging} SYNC`);
    await run(`CREATE TABLE ${staging} AS ${database}.${each.table.name}`);
    for (const { file } of each.files) await files.insert(join(directory, file), staging, columns);
  };

  const months = monthsOf(manifest);
  const progress = await readProgress();
  const missing = new Set<Month>();
  for (const each of months) if (!(await isLoaded(each, progress.get(partOf(each))))) missing.add(each);
  // Before anything is written.
  for (const each of missing) await expectUnaltered(each);
  await run(
    `CREATE TABLE IF NOT EXISTS ${log} (export String, part String, events Int64, done UInt8) ENGINE = MergeTree ORDER BY (export, part)`,
  );
  let done = 0;
  for (const each of months) {
    const part = partOf(each);
    if (missing.has(each)) {
      await load(each);
      const events = await eventsIn(staging, each);
      // From now on what the month holds is of this import: until then it was empty.
      await note(part, events, 0);
      await run(`ALTER TABLE ${database}.${each.table.name} REPLACE PARTITION ${each.month} FROM ${staging}`);
      await note(part, events, 1);
    }
    done += each.files.length;
    onProgress?.(done, manifest.files.length);
  }
  const final = await readProgress();
  const raw = months.filter(({ table }) => table.events === "count()").map((each) => final.get(partOf(each))?.events ?? 0);
  await run(`DROP TABLE IF EXISTS ${staging} SYNC`);
  await run(`DROP TABLE IF EXISTS ${log} SYNC`);
  return raw.reduce((sum, events) => sum + events, 0);
};
