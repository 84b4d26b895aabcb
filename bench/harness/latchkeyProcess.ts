import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const main = join(root, "src/main.ts");

type Environment = Readonly<Record<string, string | undefined>>;

/** Of the tests' own environment only what a process needs to run: no setting leaks in. */
const environment = (env: Environment): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  // Not a setting, but a tenth of the time that a start takes.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  ...env,
});

/** Services that run now: none outlives the tests, also when one of them was given up. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Standard output and standard error so far. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

const collect = (child: ChildProcess): Output => {
  const text = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text.stdout += chunk;
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text.stderr += chunk;
  });
  return text;
};

export interface Finished extends Output {
  readonly code: number | null;
}

/**
 * Starts `latchkey <args>`; what it prints is for the caller to read.
 * @param output a file for its standard output instead.
 * @param program `main.ts` of another version.
 */
export const spawnLatchkey = (
  args: readonly string[],
  env: Environment = {},
  output: number | "pipe" = "pipe",
  program: string = main,
): ChildProcess => spawn(process.execPath, [program, ...args], { env: environment(env), stdio: ["pipe", output, "pipe"] });

/** Runs `latchkey <args>` to its end. @param input what it finds on standard input. @param program `main.ts` of another version. */
export const runLatchkey = async (
  args: readonly string[],
  env: Environment = {},
  input = "",
  program: string = main,
): Promise<Finished> => {
  const child = spawnLatchkey(args, env, "pipe", program);
  // It may end without reading it.
  child.stdin?.on("error", () => undefined).end(input);
  const text = collect(child);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...text };
};

/** What `latchkey serve` started, wherever it runs. */
export interface RunningService extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly adminUrl: string;
  readonly dataDir: string;
  /** Standard output and standard error so far. */
  readonly output: Output;
  /** The root key that the first start wrote. */
  readonly rootKey: () => Promise<string>;
  /** SIGTERM, then the exit code. */
  readonly stop: () => Promise<number | null>;
}

export interface ServiceProcess extends RunningService {
  readonly pid: number;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Exit code, null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

export interface StartOptions {
  /** Of `serve`. */
  readonly args?: readonly string[];
  /** Settings beside the ports, which are free ones, and `DATA_DIR`. */
  readonly env?: Environment;
  /** Kept after the end; a new temporary one, removed when disposed of, unless given. */
  readonly dataDir?: string;
  /** `main.ts` of another version. */
  readonly program?: string | undefined;
}

/** Where a service that has started listens. */
export interface Started {
  readonly url: string;
  readonly adminUrl: string;
}

/** What the log line of the start says, once it and the greeting are there. */
export const startedIn = ({ stdout, stderr }: Output): Started | undefined => {
  if (!stdout.includes(" serves ")) return undefined;
  const line = stderr.split("\n").find((candidate) => candidate.endsWith('"msg":"service started"}'));
  return line === undefined ? undefined : (JSON.parse(line) as Started);
};

/** The root key that the first start wrote to its file. */
export const readRootKey = async (dataDir: string): Promise<string> => (await readFile(join(dataDir, "root-key"), "utf8")).trim();

/** Starts the real service as a process of its own on free ports and waits until it is ready. Rejects when it ends before. */
export const startService = async ({ args = [], env = {}, dataDir, program = main }: StartOptions = {}): Promise<ServiceProcess> => {
  const directory = dataDir ?? (await mkdtemp(join(tmpdir(), "latchkey-process-")));
  const child = spawn(process.execPath, [program, "serve", ...args], {
    cwd: root,
    env: environment({ PORT: "0", ADMIN_PORT: "0", DATA_DIR: directory, LOG_LEVEL: "info", ANALYTICS: "off", ...env }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const output = collect(child);
  const exited = once(child, "close").then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  const started = await new Promise<Started>((resolve, reject) => {
    const look = (): void => {
      const found = startedIn(output);
      if (found) resolve(found);
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    exited.then((code) => reject(new Error(`the service ended with ${code}:\n${output.stderr}`)), reject);
  });
  const stop = (): Promise<number | null> => {
    child.kill("SIGTERM");
    return exited;
  };
  return {
    pid: child.pid ?? Number.NaN,
    ...started,
    dataDir: directory,
    output,
    rootKey: () => readRootKey(directory),
    kill: (signal) => {
      child.kill(signal);
    },
    exited,
    stop,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
      // The engine of analytics ends with the service, a moment after it, and may still write there.
      if (dataDir === undefined) await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
};
