import { median } from "../median.ts";
import { memoryOf } from "../processes.ts";
import { type Beside, withService } from "./beside.ts";
import type { ResultRow } from "./resultRows.ts";
import { timed } from "./timed.ts";

const ROUNDS = 3;

/** Starts a service on each store in turn, each time until its first answer. */
export const measureStarts = async (all: readonly Beside[], growth: number): Promise<readonly ResultRow[]> => {
  const measured = all.map((): { ms: number[]; megabytes: number[] } => ({ ms: [], megabytes: [] }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, beside] of all.entries()) {
      const { apiId } = beside.filled.population;
      // Up to the answer: the stop comes after what is timed.
      const stops: (() => void)[] = [];
      let stopped: Promise<void> = Promise.resolve();
      const ms = await timed(
        1,
        () =>
          new Promise<void>((answered, failed) => {
            stopped = withService(beside, async ({ server, call }) => {
              await call("apis.getApi", { apiId });
              measured[i]?.megabytes.push(memoryOf(server.pid, "VmRSS"));
              answered();
              await new Promise<void>((stop) => stops.push(stop));
            });
            stopped.catch(failed);
          }),
      );
      measured[i]?.ms.push(...ms);
      for (const stop of stops) stop();
      await stopped;
    }
  }
  return [
    { what: "start, to the first answer", unit: "ms", values: measured.map(({ ms }) => median(ms)), goal: { growth } },
    { what: "memory after the start", unit: "MB", values: measured.map(({ megabytes }) => median(megabytes)), goal: { growth } },
  ];
};
