import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { freePort } from "../harness/freePort.ts";
import { dropMongoDatabase, freshMongoUrl } from "../harness/mongoDatabases.ts";

export interface MongoServer extends AsyncDisposable {
  /** A database of its own. */
  readonly url: string;
  /** Ends the server with SIGKILL; undefined when it is not ours to kill. */
  readonly kill: (() => Promise<void>) | undefined;
  /** Starts it again. */
  readonly start: () => Promise<void>;
}

const run = promisify(execFile);

/**
 * A MongoDB server for the rehearsal: one of its own where MONGODB_UP names a command that starts one on the ports MONGODB_PORT and
 * MONGODB_PG_PORT and prints its URL last (with the argument `pids` its process ids; with `wipe` it ends it and deletes its data), or
 * else the one of MONGODB_URL. Rejects when neither is set.
 */
export const openMongoServer = async (): Promise<MongoServer> => {
  const { MONGODB_UP: command, MONGODB_URL: server } = process.env;
  if (command === undefined) {
    if (server === undefined) {
      throw new Error(
        "three nodes need a MongoDB server, and the embedded store has one process: set MONGODB_URL, or MONGODB_UP to a command that starts one",
      );
    }
    const url = freshMongoUrl(server);
    return { url, kill: undefined, start: async () => undefined, [Symbol.asyncDispose]: () => dropMongoDatabase(url) };
  }
  const ports = { MONGODB_PORT: String(await freePort()), MONGODB_PG_PORT: String(await freePort()) };
  const ask = async (...args: string[]): Promise<string[]> => {
    const { stdout } = await run(command, args, { env: { ...process.env, ...ports } });
    return stdout.trim().split("\n");
  };
  const start = async (): Promise<string> => (await ask()).at(-1) ?? "";
  return {
    url: freshMongoUrl(await start()),
    kill: async () => {
      for (const pid of await ask("pids")) process.kill(Number(pid), "SIGKILL");
    },
    start: async () => void (await start()),
    [Symbol.asyncDispose]: async () => void (await ask("wipe")),
  };
};
