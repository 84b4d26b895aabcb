import { applyLoad, type LoadResult } from "./load.ts";
import { medianBy } from "./measureTarget.ts";
import { type HeldUp, pausesOf } from "./pausesOf.ts";
import { shapes, type Target } from "./targets.ts";

/** How long the calls of a target take while its server has time left. */
export interface Steady extends LoadResult {
  readonly description: string;
  readonly heldUp: HeldUp;
  /** Its 99th percentile over that of its yardstick at the same rate: the median of the rounds. */
  readonly ratio: number;
}

/**
 * Loads a target and its yardstick in turn at `rate` calls a second; needs h2load. Resolves to both, of each the round with its
 * median 99th percentile, and the longest call of all rounds with what held it up.
 */
export const measureSteady = async (
  target: Target,
  yardstick: Target,
  rate: number,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<readonly Steady[]> => {
  const runs: Record<"target" | "yardstick", { readonly result: LoadResult; readonly heldUp: HeldUp }[]> = { target: [], yardstick: [] };
  const load = ({ call, server }: Target) => pausesOf(server, () => applyLoad({ ...call, ...shapes[call.protocol], seconds, rate }));
  for (let round = 0; round < rounds; round++) {
    runs.yardstick.push(await load(yardstick));
    runs.target.push(await load(target));
  }
  const summary = ({ description }: Target, own: typeof runs.target): Steady => {
    const worst = own.reduce((one, other) => (other.result.longest > one.result.longest ? other : one));
    const ratios = own.map(({ result }, i) => result.p99 / (runs.yardstick[i]?.result.p99 ?? Number.NaN));
    return {
      description,
      ...medianBy(own, ({ result }) => result.p99).result,
      longest: worst.result.longest,
      heldUp: worst.heldUp,
      errors: own.reduce((sum, { result }) => sum + result.errors, 0),
      ratio: medianBy(ratios, (ratio) => ratio),
    };
  };
  return [summary(yardstick, runs.yardstick), summary(target, runs.target)];
};
