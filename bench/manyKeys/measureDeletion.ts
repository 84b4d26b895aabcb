import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/platform/base/clock.ts";
import { applyLoad, type LoadResult } from "../load.ts";
import { median } from "../median.ts";
import { shapes } from "../targets.ts";
import { type Beside, withService } from "./beside.ts";
import { metricSum } from "./metricSum.ts";
import type { ResultRow } from "./resultRows.ts";
import { timed } from "./timed.ts";

const HOT_KEYS = 1_000;
const DIGITS = "9".repeat(22);
const ROUNDS = 3;
const SECONDS = 4;
/** Fewer are swept before anybody can be loaded beside it. */
const LEAST_SWEPT = 10_000;

interface Measured {
  readonly deleteApi: number;
  readonly before: readonly LoadResult[];
  readonly beside: readonly LoadResult[];
  readonly perSecond: number;
}

const measure = (beside: Beside): Promise<Measured> =>
  withService(beside, async ({ url, adminUrl, rootKey, call }) => {
    const { place, filled } = beside;
    const swept = (): Promise<number> => metricSum(adminUrl, "latchkey_swept_total");
    const load = (): Promise<LoadResult> =>
      applyLoad({
        url: `${url}/v2/keys.verifyKey`,
        protocol: "http1",
        ...shapes.http1,
        headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
        // The last two digits are of keys with a limit in the API that stays.
        body: Buffer.from(JSON.stringify({ key: `bench_${DIGITS}04` })).toString("base64"),
        vary: { digits: DIGITS, below: Math.min(HOT_KEYS, filled.population.keys / 100) },
        seconds: SECONDS,
      });
    const loads = async (): Promise<readonly LoadResult[]> => {
      const results: LoadResult[] = [];
      for (let round = 0; round < ROUNDS; round++) results.push(await load());
      return results;
    };
    await load();
    const before = await loads();
    const [deleteApi = Number.NaN] = await timed(1, () => call("apis.deleteApi", { apiId: filled.bigApiId }));
    // What was deleted is swept two minutes later: this is dated back.
    await place.withStore((store) => store.collection("apis").updateOne({ _id: filled.bigApiId }, { $set: { sweepFrom: 1 } }));
    while ((await swept()) === 0) await sleep(100);
    const from = await swept();
    const startedAt = systemClock.monotonic();
    const during = await loads();
    const perSecond = ((await swept()) - from) / ((systemClock.monotonic() - startedAt) / 1_000);
    return { deleteApi, before, beside: during, perSecond };
  });

/** Deletes the API with a tenth of all keys, and verifies others before, and while its keys are swept. */
export const measureDeletion = async (all: readonly Beside[]): Promise<readonly ResultRow[]> => {
  const measured: (Measured | undefined)[] = [];
  for (const beside of all) measured.push(beside.filled.population.keys / 10 < LEAST_SWEPT ? undefined : await measure(beside));
  const row = (what: string, unit: string, pick: (each: Measured) => number, goal?: ResultRow["goal"]): ResultRow => ({
    what,
    unit,
    values: measured.map((each) => (each === undefined ? undefined : pick(each))),
    goal,
  });
  const p99 = (results: readonly LoadResult[]): number => median(results.map((each) => each.p99));
  const rate = (results: readonly LoadResult[]): number => median(results.map((each) => each.perSecond));
  return [
    row("apis.deleteApi, of a tenth of all keys", "ms", ({ deleteApi }) => deleteApi, { most: 50 }),
    row("verifications before the sweep", "/s", ({ before }) => rate(before)),
    row("verifications beside the sweep", "/s", (each) => rate(each.beside)),
    row("share of them", "×", (each) => rate(each.beside) / rate(each.before), { least: 0.9 }),
    row("their p99 before the sweep", "ms", ({ before }) => p99(before)),
    row("their p99 beside the sweep", "ms", (each) => p99(each.beside)),
    row("of that before", "×", (each) => p99(each.beside) / p99(each.before), { most: 1.5 }),
    row("swept meanwhile", "keys/s", ({ perSecond }) => perSecond),
  ];
};
