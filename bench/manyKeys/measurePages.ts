import { systemClock } from "../../src/platform/base/clock.ts";
import { type KeyPage, keyPages } from "../keyPages.ts";
import { median } from "../median.ts";
import { type Served, serve } from "../targets.ts";
import type { Beside } from "./beside.ts";
import type { ResultRow } from "./resultRows.ts";

/** Rounds before anything is measured, at most: the first ones run code that was never compiled, on pages that nobody has read yet. */
const MOST_WARM_UP = 10;

/** A service on each store; asks all of them for each page in turn. */
export const measurePages = async (all: readonly Beside[], rounds: number, growth: number): Promise<readonly ResultRow[]> => {
  const services: Served[] = [];
  const warmUp = Math.min(MOST_WARM_UP, rounds);
  try {
    for (const { place, filled } of all) services.push(await serve(place.env, { rootKey: filled.population.rootKey }));
    const asked = services.map(({ call }, i) => keyPages(call, (all[i] as Beside).filled.population));
    const measured = asked.map((pages) => pages.map((): number[] => []));
    for (let round = 0; round < warmUp + rounds; round++) {
      for (let page = 0; page < (asked[0]?.length ?? 0); page++) {
        for (const [i, pages] of asked.entries()) {
          const { what, keys, ask } = pages[page] as KeyPage;
          const startedAt = systemClock.monotonic();
          const { length } = await ask(round);
          if (round >= warmUp) measured[i]?.[page]?.push(systemClock.monotonic() - startedAt);
          if (length !== keys) throw new Error(`${what}: ${length} keys instead of ${keys}`);
        }
      }
      if (round % 5 === 0) console.error(`pages, round ${round} of ${warmUp + rounds}`);
    }
    return (asked[0] ?? []).map(({ what }, page) => ({
      what,
      unit: "ms",
      values: measured.map((pages) => median(pages[page] ?? [])),
      goal: { growth },
    }));
  } finally {
    for (const { server } of services) await server.stop();
  }
};
