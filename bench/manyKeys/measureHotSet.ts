import { applyLoad, type LoadRequest } from "../load.ts";
import { median } from "../median.ts";
import { createPlace } from "../place.ts";
import { populate } from "../population.ts";
import { type Served, shapes } from "../targets.ts";
import { bareKey } from "./bareKey.ts";
import { type Beside, withService } from "./beside.ts";
import type { ResultRow } from "./resultRows.ts";

/** Of the service that has no others. */
const FEW_KEYS = 1_000;
const HOT_KEYS = 10_000;
const ROUNDS = 5;
const SECONDS = 4;
/** Of what the service with few keys does. */
const LEAST_SHARE = 0.9;
/** Of a store with few keys; until all of a hot set are cached, and its code is compiled. */
const WARM_UP_SECONDS = 12;
/** A random number in the place of these is the end of a key's number, but for a digit that tells what the key has. */
const DIGITS = "9".repeat(23);

/** Of both services, ending with the same digit in the large one. */
const kinds = [
  { what: "with a role, two permissions, a limit, an identity", prefix: "bench", permissions: "bench.p0 AND bench.p1", lastDigit: "0" },
  { what: "with none of these", prefix: "bare", permissions: undefined, lastDigit: "9" },
] as const;

interface Hot {
  readonly served: Served;
  readonly load: LoadRequest;
  readonly perSecond: number[];
  readonly micros: number[];
  readonly p99: number[];
}

/** @param digits what a random number below `below` takes the place of in the key. */
const hot = (
  served: Served,
  body: { readonly key: string; readonly permissions?: string | undefined },
  digits: string,
  below: number,
): Hot => ({
  served,
  load: {
    url: `${served.url}/v2/keys.verifyKey`,
    ...shapes.http1,
    protocol: "http1",
    headers: { authorization: `Bearer ${served.rootKey}`, "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(body)).toString("base64"),
    vary: { digits, below },
    seconds: SECONDS,
  },
  perSecond: [],
  micros: [],
  p99: [],
});

/** Loads them in turn; the shares are of the first one. */
const compare = async (what: string, all: readonly Hot[]): Promise<readonly ResultRow[]> => {
  for (const { load } of all.toReversed()) await applyLoad({ ...load, seconds: WARM_UP_SECONDS });
  for (let round = 0; round < ROUNDS; round++) {
    // Backwards every other time: what comes later finds the machine warmer.
    for (const { served, load, perSecond, micros, p99 } of round % 2 === 0 ? all : all.toReversed()) {
      const before = served.server.cpuSeconds();
      const result = await applyLoad(load);
      // On a machine with too much to do some are given up by the client.
      if (result.errors > result.requests / 100) throw new Error(`${result.errors} of ${result.requests} verifications failed`);
      perSecond.push(result.perSecond);
      micros.push(((served.server.cpuSeconds() - before) / result.requests) * 1e6);
      p99.push(result.p99);
    }
    console.error(`hot set, round ${round + 1} of ${ROUNDS}: ${all.map(({ perSecond }) => perSecond.at(-1)?.toFixed(0)).join(", ")} /s`);
  }
  const of = (unit: string, name: string, pick: (each: Hot) => readonly number[]): ResultRow => ({
    what: name,
    unit,
    values: all.map((each) => median(pick(each))),
  });
  const [first] = all;
  const shares = (pick: (each: Hot, of: Hot | undefined, round: number) => number): readonly (number | undefined)[] =>
    all.map((each) => (each === first ? undefined : median(each.perSecond.map((_, round) => pick(each, first, round)))));
  const at = (numbers: readonly number[] | undefined, round: number): number => numbers?.[round] ?? Number.NaN;
  return [
    of("/s", `verifications of keys ${what}`, ({ perSecond }) => perSecond),
    of("ms", "p99", ({ p99 }) => p99),
    of("µs", "CPU for each", ({ micros }) => micros),
    {
      what: "share of the verifications, median of the rounds",
      unit: "×",
      values: shares((each, few, round) => at(each.perSecond, round) / at(few?.perSecond, round)),
      goal: { least: LEAST_SHARE },
    },
    {
      what: "share by CPU for each, median of the rounds",
      unit: "×",
      values: shares((each, few, round) => at(few?.micros, round) / at(each.micros, round)),
    },
  ];
};

/**
 * Verifies, in turn, any of the 1,000 keys of a service that has but those of two kinds, any of 1,000 keys of a large store, and any of
 * 10,000 of it.
 */
export const measureHotSet = async (beside: Beside): Promise<readonly ResultRow[]> => {
  const place = createPlace(beside.place.engine === "embedded" ? undefined : beside.place.env.MONGODB_URL);
  try {
    const population = await place.withStore(async (store) => {
      await populate(store, { keys: FEW_KEYS, roles: 0, permissions: 0, prefix: "bare", vary: (_, key) => bareKey(key) });
      return populate(store, { keys: FEW_KEYS, roles: 1, permissions: 2 });
    });
    const few: Beside = { place, filled: { population, bigApiId: "", entries: 0, bytesPerKey: undefined } };
    const hotKeys = Math.min(HOT_KEYS, Math.floor(beside.filled.population.keys / 10));
    const rows: ResultRow[] = [];
    for (const { what, prefix, permissions, lastDigit } of kinds) {
      rows.push(
        ...(await withService(few, (ofFew) =>
          withService(beside, (ofMany) =>
            compare(what, [
              hot(ofFew, { key: `${prefix}_0${DIGITS}`, permissions }, DIGITS, FEW_KEYS),
              hot(ofMany, { key: `bench_${DIGITS}${lastDigit}`, permissions }, DIGITS, Math.min(FEW_KEYS, hotKeys)),
              hot(ofMany, { key: `bench_${DIGITS}${lastDigit}`, permissions }, DIGITS, hotKeys),
            ]),
          ),
        )),
      );
    }
    return rows;
  } finally {
    await place.remove();
  }
};
