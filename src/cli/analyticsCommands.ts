import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { readArguments } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { readConfig } from "./readConfig.ts";
import { formatTable } from "./table.ts";

type Row = Readonly<Record<string, unknown>>;

/** Where the running service of this configuration listens. */
const serviceUrl = ({ host, port, tls }: Config): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${tls ? "https" : "http"}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
};

const readRootKey = async (file: string): Promise<string> => {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new Error(`no root key can be read from ${file}; name a file that holds one with --root-key-file`, { cause: error });
  }
};

/** The tables decide the procedure: none can be read by both. */
const procedureFor = (sql: string): string => (/\bratelimits_/i.test(sql) ? "analytics.getRatelimits" : "analytics.getVerifications");

const ask = async (url: string, rootKey: string, sql: string): Promise<Row[]> => {
  const response = await fetch(`${url}/v2/${procedureFor(sql)}`, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify({ query: sql }),
  }).catch((error: unknown) => {
    throw new Error(`no service answers at ${url}`, { cause: error });
  });
  const answer = (await response.json()) as { readonly data?: Row[]; readonly error?: { readonly detail: string } };
  if (answer.data === undefined) throw new Error(answer.error?.detail ?? `the service answered ${response.status}`);
  return answer.data;
};

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value).replace(/[\r\n\t]+/g, " ");
};

/** Numbers stand at the right of their column, so that digits of the same worth stand below each other. */
const table = (rows: readonly Row[]): string[] => {
  const columns = Object.keys(rows[0] ?? {});
  const texts = rows.map((row) => columns.map((column) => cell(row[column])));
  const cells = [columns, ...texts].map((line) => [...line]);
  for (const [i, column] of columns.entries()) {
    if (!rows.every((row) => row[column] === null || typeof row[column] === "number")) continue;
    const width = Math.max(...cells.map((line) => line[i]?.length ?? 0));
    for (const line of cells) line[i] = (line[i] ?? "").padStart(width);
  }
  return formatTable(cells);
};

const sql: Command = {
  name: "analytics sql",
  usage: "QUERY [--json] [--url URL] [--root-key-file FILE]",
  summary: "Ask the running service, as the root key in FILE (DATA_DIR/root-key); a table, or one JSON object a row.",
  run: async (args, context) => {
    const options = { json: { type: "boolean" }, url: { type: "string" }, "root-key-file": { type: "string" } } as const;
    const { positionals, values } = readArguments(args, options, "QUERY");
    const config = readConfig(context.env);
    if (values.url !== undefined && !/^https?:\/\//.test(values.url)) throw new UsageError("--url: not an http or https URL");
    const rootKey = await readRootKey(values["root-key-file"] ?? join(config.dataDir, "root-key"));
    const rows = await ask((values.url ?? serviceUrl(config)).replace(/\/+$/, ""), rootKey, positionals[0] ?? "");
    if (values.json) for (const row of rows) await context.print(JSON.stringify(row));
    else if (rows.length > 0) for (const line of table(rows)) await context.print(line);
    await context.complain(`${rows.length} ${rows.length === 1 ? "row" : "rows"}`);
    return 0;
  },
};

/** Analytics for an operator at a terminal. */
export const analyticsCommands: readonly Command[] = [sql];
