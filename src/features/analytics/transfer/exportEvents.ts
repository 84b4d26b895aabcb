import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "../../../platform/storage/embedded/syncDirectory.ts";
import type { ClickHouse } from "../clickhouse.ts";
import { digestFile } from "./digestFile.ts";
import { columnList, conditionOf, type EventTable, eventTables } from "./eventTables.ts";
import { areSoundColumns, isSoundPart } from "./isSoundPart.ts";
import {
  EXPORT_FORMAT,
  type ExportedFile,
  type ExportedPart,
  type ExportHeader,
  type ExportManifest,
  type ExportPlan,
  fileOf,
  MANIFEST,
  PLAN,
  readJson,
  TransferRefusedError,
} from "./manifest.ts";
import type { TableFiles } from "./tableFiles.ts";

/** About so many rows are in one file: an engine may hold a whole one when it reads it. */
const ROWS_PER_FILE = 500_000;
const ANSWER_BYTES = 16 * 1024 ** 2;

export interface ExportOptions {
  readonly clickhouse: ClickHouse;
  /** With the tables, which are there. */
  readonly database: string;
  readonly files: TableFiles;
  /** Absolute; empty, missing, or with an export of the same place that was interrupted. */
  readonly directory: string;
  readonly header: Omit<ExportHeader, "format" | "columns">;
  /** Rows in a file, for tests. */
  readonly rowsPerFile?: number;
  readonly onProgress?: (done: number, of: number) => void;
}

const rowsOf = (text: string): string[][] =>
  text === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => line.split("\t"));

/** Writes a file that is whole when it has its name, and stays. */
const writeWhole = async (file: string, text: string): Promise<void> => {
  const draft = `${file}.part`;
  await writeFile(draft, text, { mode: 0o600, flush: true });
  await rename(draft, file);
  syncDirectory(dirname(file));
};

const makePlan = async ({ clickhouse, database, header, rowsPerFile = ROWS_PER_FILE }: ExportOptions): Promise<ExportPlan> => {
  const ask = async (sql: string) => rowsOf(await clickhouse.query(`${sql} FORMAT TabSeparated`, { maxBytes: ANSWER_BYTES }));
  const columns: Record<string, string[]> = {};
  const parts: ExportedPart[] = [];
  for (const { name, day } of eventTables) {
    const found = await ask(`SELECT name FROM system.columns WHERE database = '${database}' AND table = '${name}' ORDER BY position`);
    columns[name] = found.map(([column = ""]) => column);
    for (const [date = "", rows] of await ask(`SELECT ${day} AS day, count() FROM ${database}.${name} GROUP BY day ORDER BY day`)) {
      const of = Math.ceil(Number(rows) / rowsPerFile);
      for (let slice = 0; slice < of; slice++) parts.push({ table: name, day: date, slice, of });
    }
  }
  return { format: EXPORT_FORMAT, ...header, columns, parts };
};

/**
 * The plan of the export that began in the directory, or undefined for one that is empty or missing. Needs no engine. Rejects with
 * `TransferRefusedError` where there is anything else.
 */
export const findBegun = async ({ directory, header }: Pick<ExportOptions, "directory" | "header">): Promise<ExportPlan | undefined> => {
  if (!existsSync(directory)) return undefined;
  if (existsSync(join(directory, MANIFEST))) {
    throw new TransferRefusedError(`${directory} holds an export that is whole already: name another directory`);
  }
  const file = join(directory, PLAN);
  if (existsSync(file)) {
    const plan = readJson<ExportPlan>(await readFile(file, "utf8"));
    if (plan === undefined || !plan.parts.every(isSoundPart) || !areSoundColumns(plan.columns)) {
      throw new TransferRefusedError(`${file} was altered: name another directory`);
    }
    if (plan.format === EXPORT_FORMAT && plan.source === header.source && plan.tables === header.tables) return plan;
    throw new TransferRefusedError(`${directory} holds the beginning of another export, of the ${plan.source}: name another directory`);
  }
  const found = (await readdir(directory)).filter((name) => name !== `${PLAN}.part`);
  if (found.length > 0) throw new TransferRefusedError(`${directory} is not empty: name another directory`);
  return undefined;
};

const findPlan = async (options: ExportOptions): Promise<ExportPlan> => {
  const begun = await findBegun(options);
  if (begun !== undefined) return begun;
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const plan = await makePlan(options);
  await writeWhole(join(options.directory, PLAN), JSON.stringify(plan));
  return plan;
};

/** Writes the file of a part, unless an earlier attempt did: a file has its name only when it is complete and on disk. */
const exportPart = async (options: ExportOptions, plan: ExportPlan, table: EventTable, part: ExportedPart): Promise<ExportedFile> => {
  const { database, files, directory } = options;
  const file = fileOf(part);
  const path = join(directory, file);
  if (!existsSync(path)) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const draft = `${path}.part`;
    await rm(draft, { force: true });
    const columns = columnList(plan.columns[table.name] ?? []);
    await files.write(`SELECT ${columns} FROM ${database}.${table.name} WHERE ${conditionOf(table, part)}`, draft);
    const handle = await open(draft, "r+");
    await handle.sync().finally(() => handle.close());
    await rename(draft, path);
    syncDirectory(dirname(path));
  }
  return { ...part, file, ...(await digestFile(path)) };
};

/**
 * Writes all events and their sums to Parquet files, one or a few for each table and day. An interrupted export continues after its last complete file.
 * Rejects as `findBegun` does.
 */
export const exportEvents = async (options: ExportOptions): Promise<ExportManifest> => {
  const { directory, onProgress } = options;
  const plan = await findPlan(options);
  const { parts, ...header } = plan;
  const files: ExportedFile[] = [];
  for (const part of parts) {
    const table = eventTables.find(({ name }) => name === part.table);
    if (table === undefined) throw new TransferRefusedError(`${directory} names the table ${part.table}, which this version does not have`);
    files.push(await exportPart(options, plan, table, part));
    onProgress?.(files.length, parts.length);
  }
  const manifest: ExportManifest = { ...header, files };
  await writeWhole(join(directory, MANIFEST), JSON.stringify(manifest, null, 1));
  await rm(join(directory, PLAN), { force: true });
  return manifest;
};
