import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { constants, setPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EngineUnavailableError } from "../engineErrors.ts";
import { makePrivateDirectory } from "./privateDirectory.ts";

const program = fileURLToPath(new URL("./engineMain.ts", import.meta.url));
const BACK_OFF_MS = 250;
const LONGEST_BACK_OFF_MS = 10_000;
/** One that ran for so long had no trouble starting. */
const SETTLED_MS = 60_000;
/** Time to write what is in memory; then it is killed. */
const STOP_MS = 10_000;
/** Of what it last wrote to standard error, for the log. */
const REMEMBERED_CHARACTERS = 2_000;

/** The engine's process finds what it compiled before where this one does: to compile it anew takes a fifth of its start. */
const compileCache = (): { readonly NODE_COMPILE_CACHE?: string } => {
  // Below the directory that was named, Node makes one for each of its versions and each user.
  const directory = getCompileCacheDir();
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) };
};

export interface EngineProcessOptions {
  /** Of the data; made, for its owner only, when it is missing. */
  readonly directory: string;
  /** Bytes. */
  readonly memory: number;
  /** Instead of a private Unix socket: a loopback port, 0 = a free one. */
  readonly port?: number;
  /** Hears of an end that nobody asked for, with what the process last said. */
  readonly onDeath?: (reason: string) => void;
}

export interface EngineProcess {
  /**
   * Starts it unless it runs, and resolves to the path of its socket or its port. From the first call on it is started
   * again whenever it ends. Rejects with `EngineUnavailableError` while a start is put off after a failed one.
   */
  readonly running: () => Promise<string>;
  /** Counts starts: what was learned from an earlier one may not hold for this. */
  readonly generation: () => number;
  readonly pid: () => number | undefined;
  /** Lets it write what it holds, and end. No start follows. */
  readonly stop: () => Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly address: Promise<string>;
  readonly ended: Promise<void>;
}

/** The embedded engine as a process of its own (DESIGN §5): a crash or a runaway query takes nothing else with it. */
export const createEngineProcess = ({ directory, memory, port, onDeath }: EngineProcessOptions): EngineProcess => {
  let current: Running | undefined;
  let socketDirectory: string | undefined;
  let restart: NodeJS.Timeout | undefined;
  let failures = 0;
  let generation = 0;
  let stopped = false;

  const addressFor = (): string => {
    if (port !== undefined) return String(port);
    // Paths of sockets are short, so not under the directory of the data.
    socketDirectory ??= mkdtempSync(join(tmpdir(), "latchkey-"));
    return join(socketDirectory, "engine");
  };

  const launch = (): Running => {
    generation++;
    const child = spawn(process.execPath, [program, directory, addressFor(), String(memory)], {
      stdio: ["pipe", "pipe", "pipe"],
      // Queries wait in threads of libuv's pool, and inserts must find one beside them.
      env: { TMPDIR: tmpdir(), TZ: "UTC", UV_THREADPOOL_SIZE: "16", NODE_OPTIONS: "", ...compileCache() },
    });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-REMEMBERED_CHARACTERS);
    });
    child.stdin?.on("error", () => undefined);
    const settled = setTimeout(() => {
      failures = 0;
    }, SETTLED_MS).unref();
    const { promise: address, resolve, reject } = Promise.withResolvers<string>();
    // Whoever waits hears of it; nobody may be waiting.
    address.catch(() => undefined);
    child.stdout?.setEncoding("utf8").on("data", (line: string) => {
      if (line.startsWith('{"ready"')) resolve(String((JSON.parse(line) as { ready: string | number }).ready));
    });
    const ended = new Promise<void>((done) => {
      const over = (reason: string): void => {
        clearTimeout(settled);
        reject(new EngineUnavailableError("the analytics engine ended"));
        const isCurrent = current?.child === child;
        if (isCurrent) current = undefined;
        if (isCurrent && !stopped) {
          onDeath?.(`${reason}${said === "" ? "" : `: ${said.trim()}`}`);
          restart = setTimeout(start, Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** failures++));
          restart.unref();
        }
        done();
      };
      child.once("error", (error) => over(error.message));
      child.once("exit", (code, signal) => over(signal ?? `exit code ${code}`));
    });
    return { child, address, ended };
  };

  const start = (): Running => {
    restart = undefined;
    const running = launch();
    current = running;
    try {
      // Verifications go first.
      if (running.child.pid !== undefined) setPriority(running.child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {
      // It has ended already, or the platform does not let us.
    }
    return running;
  };

  const requireWanted = (): void => {
    if (stopped) throw new EngineUnavailableError("the analytics engine was stopped");
  };

  return {
    running: async () => {
      requireWanted();
      if (current) return current.address;
      if (restart) throw new EngineUnavailableError("the analytics engine is about to be started again");
      try {
        await makePrivateDirectory(directory);
      } catch (error) {
        throw new EngineUnavailableError(`the directory ${directory} of the analytics engine cannot be made`, { cause: error });
      }
      // It may have been stopped meanwhile: nobody would end what is started now.
      requireWanted();
      return (current ?? start()).address;
    },
    generation: () => generation,
    pid: () => current?.child.pid,
    stop: async () => {
      stopped = true;
      clearTimeout(restart);
      if (current) {
        const { child, ended } = current;
        child.kill("SIGTERM");
        const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
        await ended;
        clearTimeout(timer);
      }
      if (socketDirectory !== undefined) rmSync(socketDirectory, { recursive: true, force: true });
    },
  };
};
