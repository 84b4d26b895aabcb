import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { ClickHouse, Settings } from "../clickhouse.ts";
import { quoteText } from "../sql/tokens.ts";

/** Moves rows between an engine and Parquet files of this machine, without holding more than a piece of a file. */
export interface TableFiles {
  /** Writes the result of a query to a new file. */
  readonly write: (select: string, file: string) => Promise<void>;
  /** Inserts the rows of a file into columns of a table. */
  readonly insert: (file: string, table: string, columns: string) => Promise<void>;
}

/** Rows are written in groups of so many, which is what the engine holds of a file. */
const writing: Settings = { output_format_parquet_row_group_size: 50_000, max_threads: 2 };
/** What is inserted is new, also where it looks like what was inserted before. */
const inserting: Settings = { insert_deduplicate: 0, max_threads: 2 };

/** The embedded engine reads and writes files itself. @param file paths are absolute */
export const embeddedFiles = (clickhouse: ClickHouse): TableFiles => ({
  write: (select, file) =>
    clickhouse.command(`INSERT INTO FUNCTION file(${quoteText(file)}, 'Parquet') ${select}`, {
      settings: { ...writing, engine_file_truncate_on_insert: 1 },
    }),
  insert: (file, table, columns) =>
    clickhouse.command(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM file(${quoteText(file)}, 'Parquet')`, {
      settings: inserting,
    }),
});

/** A server's files are on another machine: rows go over HTTP. */
export const serverFiles = (clickhouse: ClickHouse): TableFiles => ({
  write: async (select, file) => {
    // An error in the middle is told instead of a result, not behind the half of one.
    const settings = { ...writing, wait_end_of_query: 1 };
    await pipeline(await clickhouse.download(`${select} FORMAT Parquet`, { settings }), createWriteStream(file, { mode: 0o600 }));
  },
  insert: (file, table, columns) =>
    clickhouse.insert(`INSERT INTO ${table} (${columns}) FORMAT Parquet`, createReadStream(file), { settings: inserting }),
});
