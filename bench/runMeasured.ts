import { systemClock } from "../src/platform/base/clock.ts";
import { spawnLatchkey } from "./harness/latchkeyProcess.ts";
import { cpuSecondsOf, memoryOf } from "./processes.ts";

const LOOK_EVERY_MS = 50;

/** What a process took. */
export interface Taken {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** At most. */
  readonly megabytes: number;
}

/** Runs `latchkey <args>` in a process of its own, what it says on standard error. Rejects when it fails. */
export const runMeasured = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Taken> => {
  const startedAt = systemClock.monotonic();
  const child = spawnLatchkey(args, env);
  let cpuSeconds = 0;
  let megabytes = 0;
  const look = setInterval(() => {
    try {
      const { pid = 0 } = child;
      cpuSeconds = cpuSecondsOf(pid);
      // One that has ended, and that nobody has noticed yet, has none.
      megabytes = memoryOf(pid, "VmHWM") || megabytes;
    } catch {
      // It has just ended.
    }
  }, LOOK_EVERY_MS);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => process.stderr.write(`  ${text}`));
  }
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  child.on("close", resolve);
  const code = await ended;
  clearInterval(look);
  if (code !== 0) throw new Error(`latchkey ${args.join(" ")} ended with ${code}`);
  return { seconds: (systemClock.monotonic() - startedAt) / 1_000, cpuSeconds, megabytes };
};
