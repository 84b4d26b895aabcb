import { once } from "node:events";
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** In front of the engine as a server (`test/analytics/places.ts`), which has Parquet in files only: over HTTP, as a ClickHouse server has it. */
export interface ParquetServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

const read = async (request: IncomingMessage): Promise<Buffer> => Buffer.concat(await request.toArray());

/** @param engine `http://127.0.0.1:<port>` */
export const startParquetServer = async (engine: string): Promise<ParquetServer> => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-parquet-"));
  let files = 0;
  const ask = (url: URL, body: string | Buffer): Promise<Response> =>
    fetch(new URL(`/?${url.searchParams}`, engine), { method: "POST", body: new Uint8Array(Buffer.from(body)) });
  const relay = async (answer: Response, response: ServerResponse): Promise<void> => {
    const code = answer.headers.get("x-clickhouse-exception-code");
    response.writeHead(answer.status, code === null ? {} : { "x-clickhouse-exception-code": code });
    response.end(Buffer.from(await answer.arrayBuffer()));
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", engine);
    if (url.pathname === "/ping") return void response.end("Ok.\n");
    const file = join(directory, `${files++}.parquet`);
    const [, into, columns] = /^INSERT INTO (\S+) \((.*)\) FORMAT Parquet$/.exec(url.searchParams.get("query")?.trim() ?? "") ?? [];
    if (into !== undefined) {
      await pipeline(request, createWriteStream(file));
      url.searchParams.delete("query");
      return relay(await ask(url, `INSERT INTO ${into} (${columns}) SELECT ${columns} FROM file('${file}', 'Parquet')`), response);
    }
    const body = await read(request);
    const text = body.toString("utf8").trim();
    if (!/^SELECT .* FORMAT Parquet$/s.test(text)) return relay(await ask(url, body), response);
    const answer = await ask(url, `INSERT INTO FUNCTION file('${file}', 'Parquet') ${text.replace(/ FORMAT Parquet$/, "")}`);
    if (!answer.ok) return relay(answer, response);
    await pipeline(createReadStream(file), response);
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
