import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../platform/config/loadConfig.ts";
import { type CommandContext, UsageError } from "../command.ts";
import { readConfig } from "../readConfig.ts";

/** Options of every command that can talk to a running service. */
export const connectionOptions = {
  url: { type: "string" },
  "root-key-file": { type: "string" },
  timeout: { type: "string" },
  "plain-http": { type: "boolean" },
} as const;

export interface ConnectionValues {
  readonly url?: string | undefined;
  readonly "root-key-file"?: string | undefined;
  readonly timeout?: string | undefined;
  readonly "plain-http"?: boolean | undefined;
}

/** A running service, and who calls it. */
export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly rootKey: string;
  /** Where the root key came from, for people. */
  readonly keySource: string;
  readonly timeoutMs: number;
}

type Environment = CommandContext["env"];

/** Longer than a service takes for any call: it gives up after a minute. */
const DEFAULT_TIMEOUT_S = 65;
const LONGEST_TIMEOUT_S = 3_600;

const readTimeout = (text: string | undefined): number => {
  const seconds = text === undefined ? DEFAULT_TIMEOUT_S : Number(text);
  if (seconds > 0 && seconds <= LONGEST_TIMEOUT_S) return Math.ceil(seconds * 1_000);
  throw new UsageError(`--timeout: ${JSON.stringify(text)} is not a number of seconds up to ${LONGEST_TIMEOUT_S}`);
};

/** Where the service of this configuration listens. */
const configuredUrl = ({ host, port, tls }: Config): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${tls ? "https" : "http"}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
};

/** The addresses of this machine that no network carries; those that stand for all of them lead to it as well. */
const isLoopback = ({ hostname }: URL): boolean =>
  ["localhost", "[::1]", "0.0.0.0", "[::]"].includes(hostname) || /^127\.\d+\.\d+\.\d+$/.test(hostname);

interface NamedUrl {
  readonly text: string;
  /** What names it, for people. */
  readonly by: string;
}

/** The service that the caller names; undefined when nothing does. */
const findUrl = ({ url }: ConnectionValues, env: Environment): NamedUrl | undefined => {
  if (url !== undefined) return { text: url, by: "--url" };
  return env.LATCHKEY_URL === undefined ? undefined : { text: env.LATCHKEY_URL, by: "LATCHKEY_URL" };
};

/** Whether a command that can also work on the store is to call a service. */
export const namesService = (values: ConnectionValues, env: Environment): boolean => findUrl(values, env) !== undefined;

/** None of its messages repeats the text: it may hold a password. */
const checkUrl = ({ text, by }: NamedUrl, plainHttp: boolean): URL => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UsageError(`${by}: not an http or https URL`);
  if (url.username !== "" || url.password !== "") {
    throw new UsageError(`${by}: a URL must not hold credentials; set LATCHKEY_ROOT_KEY to the root key`);
  }
  if (url.search !== "" || url.hash !== "") throw new UsageError(`${by}: want the address of the service alone, without ? and #`);
  if (url.protocol === "http:" && !plainHttp && !isLoopback(url)) {
    throw new UsageError(
      `${by}: over http the root key would cross the network for everyone to read; use https, or add --plain-http where the network is yours alone`,
    );
  }
  return url;
};

/** Visible ASCII, as a header can hold it. The message does not repeat what is none. */
const checkRootKey = (text: string, source: string): string => {
  const rootKey = text.trim();
  if (/^[\x21-\x7e]{1,512}$/.test(rootKey)) return rootKey;
  throw new UsageError(`${source}: holds no root key, which is one word such as lkr_…`);
};

const readRootKeyFile = async (file: string): Promise<string> => {
  try {
    return checkRootKey(await readFile(file, "utf8"), file);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `no root key can be read from ${file}; set LATCHKEY_ROOT_KEY, or name a file that holds one with --root-key-file`,
      {
        cause: error,
      },
    );
  }
};

const findRootKey = async (
  values: ConnectionValues,
  env: Environment,
  dataDir: () => string | undefined,
): Promise<Pick<Connection, "rootKey" | "keySource">> => {
  const file = values["root-key-file"];
  if (file !== undefined) return { rootKey: await readRootKeyFile(file), keySource: file };
  if (env.LATCHKEY_ROOT_KEY !== undefined) {
    return { rootKey: checkRootKey(env.LATCHKEY_ROOT_KEY, "LATCHKEY_ROOT_KEY"), keySource: "LATCHKEY_ROOT_KEY" };
  }
  const directory = dataDir();
  if (directory === undefined) {
    throw new UsageError("no root key: set LATCHKEY_ROOT_KEY to it, or name a file that holds it with --root-key-file");
  }
  const ofFirstStart = join(directory, "root-key");
  return { rootKey: await readRootKeyFile(ofFirstStart), keySource: ofFirstStart };
};

/**
 * The service that `--url` or LATCHKEY_URL names, else the one of this configuration; with the root key of --root-key-file,
 * else of LATCHKEY_ROOT_KEY. The one of the first start, in DATA_DIR, is for this machine only: it goes to no other. Throws `UsageError`
 * where the root key would go where it must not.
 */
export const openConnection = async (values: ConnectionValues, env: Environment): Promise<Connection> => {
  const timeoutMs = readTimeout(values.timeout);
  const named = findUrl(values, env);
  const url = named && checkUrl(named, values["plain-http"] === true);
  const dataDir = () => (url === undefined || isLoopback(url) ? readConfig(env).dataDir : undefined);
  const key = await findRootKey(values, env, dataDir);
  return { url: (url?.href ?? configuredUrl(readConfig(env))).replace(/\/+$/, ""), ...key, timeoutMs };
};
