import { createApisRepository } from "../../src/features/apis/apisRepository.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createId } from "../../src/platform/base/ids.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import type { Population } from "../population.ts";
import { bareKey } from "./bareKey.ts";

/** Credits of the keys that have some: no load here spends them. */
const PLENTY = 1_000_000_000;
const MEDIUM = 10;
const SMALL = 100;
const FEW = 1_000;

/** An identity of its own, limits, credits, or none of them: by the last digit of a key's number. */
const content = (number: number, key: KeyDocument, { identityIds, holders }: Population): KeyDocument => {
  const own = { ...key, identityId: identityIds[holders + (Math.floor(number / 10) % (identityIds.length - holders))] ?? "" };
  const [limit] = key.ratelimits;
  switch (number % 10) {
    case 0:
      return own;
    case 6:
      return { ...own, ratelimits: key.ratelimits.flatMap((each) => [each, { ...each, id: `${each.id}d`, name: "daily" }]) };
    case 7:
      return { ...own, remaining: PLENTY };
    case 8: {
      const refill = { interval: "monthly", amount: PLENTY, refillDay: 1 } as const;
      return { ...own, remaining: PLENTY, refill, refilledAt: systemClock.now(), ratelimits: limit === undefined ? [] : [limit] };
    }
    case 9:
      return bareKey(key);
    default:
      return key;
  }
};

/** The big API, with a tenth of all keys, and what makes a key of a population one of many kinds. */
export interface Variation {
  readonly bigApiId: string;
  readonly vary: NonNullable<Population["vary"]>;
}

/**
 * Makes 1,111 more APIs. Of all keys six tenths stay in the population's own API, one is in the big one, one in ten of medium size, one in a hundred
 * small ones, and one in a thousand that have few keys or many. Which one is told by the other digits of a key's number, so that the keys
 * of an API stand all over the file; what a key has is told by the last. Keys whose number ends in 0 are like those of other benchmarks, each with
 * an identity of its own, as far as there are enough.
 */
export const createVariation = async (store: Store, population: Population): Promise<Variation> => {
  const now = systemClock.now();
  const apis = createApisRepository(store);
  const make = async (name: string, count: number): Promise<readonly string[]> => {
    const ids = Array.from({ length: count }, () => createId("api", now));
    for (const [i, id] of ids.entries()) await apis.insert({ id, name: `${name} ${i}` }, now, []);
    return ids;
  };
  const [[bigApiId = ""], medium, small, few] = [
    await make("big", 1),
    await make("medium", MEDIUM),
    await make("small", SMALL),
    await make("few", FEW),
  ];
  const apiOf = (number: number): string | undefined => {
    const rest = Math.floor(number / 100);
    switch (Math.floor(number / 10) % 10) {
      case 6:
        return bigApiId;
      case 7:
        return medium[rest % MEDIUM];
      case 8:
        return small[rest % SMALL];
      case 9:
        // The more keys, the later among them.
        return few[Math.floor(FEW * ((rest * 0.618) % 1) ** (1 / 3))];
      default:
        return undefined;
    }
  };
  return {
    bigApiId,
    vary: (number, key) => {
      const varied = content(number, key, population);
      const apiId = apiOf(number);
      return apiId === undefined ? varied : { ...varied, apiId };
    },
  };
};
