import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** A program that somebody else wrote, started for the time of a block. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** What it wrote to standard error so far. */
  readonly complaints: () => string;
  /** True once it has ended. */
  readonly hasEnded: () => boolean;
}

/** Programs that run now: none outlives this process. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill();
});

/** Starts a program. Rejects, with what to install, when there is none of that name. */
export const startProgram = async (command: string, args: readonly string[]): Promise<Program> => {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new Error(`${command} cannot be started; on Debian: apt-get install ${command}`, { cause: error });
  }
  running.add(child);
  const ended = once(child, "close").then(() => running.delete(child));
  return {
    pid: child.pid ?? Number.NaN,
    complaints: () => complaints,
    hasEnded: () => !running.has(child),
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await ended;
    },
  };
};

/** Asks again every 100 ms until `ask` resolves to something. Rejects after `seconds`, saying what was awaited. */
export const eventually = async <T>(what: string, seconds: number, ask: () => T | undefined | Promise<T | undefined>): Promise<T> => {
  const until = performance.now() + seconds * 1_000;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (performance.now() > until) throw new Error(`${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
