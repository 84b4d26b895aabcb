import { rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Session } from "chdb";

/**
 * The process of the embedded engine: ClickHouse as a library, behind the part of ClickHouse's HTTP interface that
 * `../clickhouse.ts` uses. SIGTERM ends it after the statements that run; the end of its standard input ends it at
 * once, so it never outlives the service that started it.
 *
 * Arguments: directory of the data; path of a Unix socket, or a loopback port (0 = a free one); memory in bytes.
 * Prints one line of JSON, `{"ready": <address>}`, once it can be asked.
 */

const [directory = "", address = "", memory = ""] = process.argv.slice(2);
/** Bytes of a statement: a batch of events and its INSERT. */
const MAX_BODY_BYTES = 64 * 1024 ** 2;
/** Bytes of an address: settings stand in it. */
const MAX_HEADER_BYTES = 64 * 1024;
/** A query that runs on so long after its time limit will not end by itself. */
const OVERRUN_MS = 10_000;
/** Longest a statement without a time limit may take. */
const STATEMENT_MS = 120_000;
/** Of the rows of a query, the most that is sent; whoever reads them gives up earlier. */
const MAX_ROWS_BYTES = 8 * 1024 ** 2;
/** The format whose results are read bit by bit, so that a huge one is never held in memory. */
const STREAMED_FORMAT = "JSONCompactEachRowWithNamesAndTypes";
/** Lines of names and types, which the library repeats in front of every bit. */
const HEADER_LINES = 2;
/** Parameters that are no settings of the engine. */
const transport: ReadonlySet<string> = new Set([
  "query",
  "query_id",
  "database",
  "wait_end_of_query",
  "role",
  "session_id",
  "default_format",
]);

// Whatever the library writes is its owner's alone.
process.umask(0o077);

const MIB = 1024 ** 2;
const engineOptions = [
  `--max_server_memory_usage=${memory}`,
  `--mark_cache_size=${64 * MIB}`,
  "--implicit_select=0",
  "--background_pool_size=2",
  "--background_schedule_pool_size=4",
];

// Its first connection starts the engine, and keeps it running between others.
const anchor = new Session(directory, { connectionArgs: engineOptions });

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

const afterHeader = (bytes: Uint8Array): Uint8Array => {
  let start = 0;
  for (let line = 0; line < HEADER_LINES; line++) start = bytes.indexOf(10, start) + 1;
  return bytes.subarray(start);
};

/** The first megabytes of a query's rows. Nobody listening any more ends the query. */
const readRows = async (session: Session, sql: string, gone: AbortSignal): Promise<Uint8Array> => {
  const bits: Uint8Array[] = [];
  let bytes = 0;
  for await (const bit of session.queryStream(sql, { format: STREAMED_FORMAT, signal: gone })) {
    const rows = bits.length === 0 ? bit.raw() : afterHeader(bit.raw());
    bits.push(rows);
    bytes += rows.length;
    if (bytes > MAX_ROWS_BYTES) break;
  }
  return Buffer.concat(bits);
};

const noop = (): void => undefined;
/** Those that run. */
const statements = new Set<Promise<unknown>>();

/** Runs a statement under settings that no other one sees: each has a connection of its own (0.7 ms). */
const run = async (sql: string, parameters: URLSearchParams, gone: AbortSignal): Promise<Uint8Array> => {
  const settings = [...parameters].filter(([name]) => !transport.has(name));
  const database = parameters.get("database");
  const session = new Session(directory, { connectionArgs: engineOptions });
  const limit = Number(parameters.get("max_execution_time") ?? 0) * 1000;
  const watchdog = setTimeout(() => process.exit(3), limit > 0 ? limit + OVERRUN_MS : STATEMENT_MS);
  try {
    if (database && database !== "default") await session.queryAsync(`USE \`${database}\``);
    if (settings.length > 0) {
      const list = settings.map(([name, value]) => {
        if (!/^\w+$/.test(name)) throw new Error("Code: 115. DB::Exception: unknown setting");
        return `${name} = ${/^-?\d+(\.\d+)?$/.test(value) ? value : quote(value)}`;
      });
      await session.queryAsync(`SET ${list.join(", ")}`);
    }
    if (parameters.get("default_format") === STREAMED_FORMAT) return await readRows(session, sql, gone);
    return (await session.queryAsync(sql, { format: "TabSeparated" })).bytes();
  } finally {
    clearTimeout(watchdog);
    session.close();
  }
};

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error("Code: 307. DB::Exception: the statement is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
};

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  try {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://engine");
    if (pathname === "/ping") {
      response.end("Ok.\n");
      return;
    }
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const body = await readBody(request);
    const running = run([searchParams.get("query"), body].filter(Boolean).join("\n"), searchParams, gone.signal);
    const settled: Promise<unknown> = running.then(noop, noop).then(() => statements.delete(settled));
    statements.add(settled);
    const result = await running;
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "content-length": result.byteLength });
    response.end(result);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const code = /Code: (\d+)\./.exec(message)?.[1] ?? "1002";
    response.writeHead(500, { "content-type": "text/plain; charset=utf-8", "x-clickhouse-exception-code": code });
    response.end(/^Code: /.test(message) ? message : `Code: ${code}. DB::Exception: ${message} (UNKNOWN_EXCEPTION)`);
  }
};

const options = { keepAliveTimeout: 60_000, requestTimeout: 0, maxHeaderSize: MAX_HEADER_BYTES };
const server = createServer(options, (request, response) => void answer(request, response));

const end = async (): Promise<void> => {
  server.close();
  // The library may wait for ever when it is closed under a statement that runs.
  while (statements.size > 0) await Promise.all(statements);
  server.closeAllConnections();
  anchor.close();
  process.exit(0);
};
let isEnding = false;
process.on("SIGTERM", () => {
  if (isEnding) return;
  isEnding = true;
  void end();
});
// The service has gone without a word. What it was told is written is in files by now, and closing in the middle of a
// statement can hang: nobody would be left to end this process then.
const die = (): void => void process.kill(process.pid, "SIGKILL");
process.stdin.on("end", die).on("error", die).resume();
// Ctrl-C reaches every process of the terminal; the service decides when this one ends.
process.on("SIGINT", () => undefined);

const isPort = /^\d+$/.test(address);
if (!isPort) rmSync(address, { force: true });
server.listen(isPort ? { port: Number(address), host: "127.0.0.1" } : { path: address }, () => {
  const bound = server.address();
  process.stdout.write(`${JSON.stringify({ ready: typeof bound === "string" ? bound : bound?.port })}\n`);
});
