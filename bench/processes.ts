import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Answers } from "./servers/probe.ts";

const run = promisify(execFile);

/** True when a command of that name is installed. */
export const isInstalled = (command: string): boolean => spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;

/** The measured server runs on one core and the load on another, so that neither disturbs the other. */
export const isPinned: boolean = isInstalled("taskset") && availableParallelism() > 1;
const SERVER_CORE = "0";
const CLIENT_CORE = "1";

const pinned = (core: string, command: string, args: readonly string[]): [string, string[]] =>
  isPinned ? ["taskset", ["-c", core, command, ...args]] : [command, [...args]];

export interface ServerProcess {
  readonly pid: number;
  /** Waits for a line on standard output or standard error that `pattern` matches. */
  readonly waitFor: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** CPU time used so far by all threads, in seconds. */
  readonly cpuSeconds: () => number;
  /** The same for each kind of thread, by its name; those that have ended are left out. */
  readonly threadSeconds: () => ReadonlyMap<string, number>;
  readonly stop: () => Promise<void>;
}

/** A Node program, whose main thread tells about itself. */
export interface NodeProcess extends ServerProcess {
  readonly ask: <Q extends keyof Answers>(question: Q) => Promise<Answers[Q]>;
}

const readStat = (file: string): { readonly name: string; readonly seconds: number; readonly endedChildren: number } => {
  // The second field, in parentheses, may hold blanks; user and system ticks of 10 ms are fields 14 and 15, of ended children the next two.
  const [, name = "", rest = ""] = /\((.*)\) (.*)/s.exec(readFileSync(file, "utf8")) ?? [];
  const fields = rest.split(" ");
  const ticks = (first: number): number => (Number(fields[first]) + Number(fields[first + 1])) / 100;
  return { name, seconds: ticks(11), endedChildren: ticks(13) };
};

/** CPU time that a process has used so far, by all of its threads, in seconds. */
export const cpuSecondsOf = (pid: number): number => readStat(`/proc/${pid}/stat`).seconds;

/** Megabytes of a process, of /proc/<pid>/status: `VmRSS` now, `VmHWM` at most so far. */
export const memoryOf = (pid: number, field: "VmRSS" | "VmHWM"): number => {
  const [, kilobytes = "NaN"] = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
};

/** The same with all processes that it has started and that run now. */
export const cpuSecondsOfAll = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number))
    .reduce((sum, child) => sum + cpuSecondsOfAll(child), cpuSecondsOf(pid));

/** CPU time of the programs that this process has run to their end so far, in seconds. */
export const cpuSecondsOfClients = (): number => readStat("/proc/self/stat").endedChildren;

/** The checkout that this file belongs to. */
export const ownRoot: string = join(import.meta.dirname, "..");

const probe = join(import.meta.dirname, "servers/probe.ts");

/** What a child does for those who measure it. */
const watchChild = (child: ChildProcess, name: string): ServerProcess => {
  const exited = once(child, "exit");
  const kill = (): void => void child.kill();
  process.on("exit", kill);
  child.on("exit", () => process.off("exit", kill));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      child.emit("output");
    });
  }
  const pid = child.pid ?? Number.NaN;
  return {
    pid,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(output);
          if (match) resolve(match);
        };
        child.on("output", look);
        look();
        exited.then(() => reject(new Error(`${name} ended:\n${output}`)), reject);
      }),
    cpuSeconds: () => cpuSecondsOf(pid),
    threadSeconds: () => {
      const threads = readdirSync(`/proc/${pid}/task`).map((task) => readStat(`/proc/${pid}/task/${task}/stat`));
      const byName = Map.groupBy(threads, ({ name }) => name);
      return new Map(Array.from(byName, ([name, all]) => [name, all.reduce((sum, { seconds }) => sum + seconds, 0)]));
    },
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
};

/** The server's core, or all that there are. */
export type Cores = "one" | "all";

const startChild = (
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  channel: "ipc" | "ignore",
  cores: Cores,
  root = ownRoot,
) => {
  const [program, all]: [string, string[]] = cores === "one" ? pinned(SERVER_CORE, command, args) : [command, [...args]];
  return spawn(program, all, { cwd: root, env: { PATH: process.env.PATH, ...env }, stdio: ["ignore", "pipe", "pipe", channel] });
};

/** Starts any program on the server's core, in the root of the checkout. */
export const startProgram = (command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ServerProcess =>
  watchChild(startChild(command, args, env, "ignore", "one"), command);

interface StartServerOptions {
  /** The server's core unless given. */
  readonly cores?: Cores;
  /** The root of another checkout whose program it is. */
  readonly root?: string | undefined;
}

/** Starts a Node program in the root of a checkout. */
export const startServer = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  { cores = "one", root }: StartServerOptions = {},
): NodeProcess => {
  const child = startChild(process.execPath, [`--import=${probe}`, ...args], env, "ipc", cores, root);
  return {
    ...watchChild(child, args.join(" ")),
    ask: (question) =>
      new Promise((resolve) => {
        child.once("message", ({ answer }: { readonly answer: never }) => resolve(answer));
        child.send(question);
      }),
  };
};

/** Runs a program on the client's core to its end; resolves to its standard output. */
export const runClient = async (command: string, args: readonly string[]): Promise<string> => {
  const { stdout } = await run(...pinned(CLIENT_CORE, command, args), { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
};
