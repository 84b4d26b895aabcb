import type { Beside } from "./beside.ts";
import { measureCacheMemory } from "./measureCacheMemory.ts";
import { measureCold } from "./measureCold.ts";
import { measureDeletion } from "./measureDeletion.ts";
import { measureHotSet } from "./measureHotSet.ts";
import { measureOthers } from "./measureOthers.ts";
import { measurePages } from "./measurePages.ts";
import { measureStarts } from "./measureStarts.ts";
import { measureUpkeep } from "./measureUpkeep.ts";
import { type ResultRow, resultTable } from "./resultRows.ts";

/** How often as much anything may take beside the most keys as beside the fewest. */
const MOST_GROWTH = 2;

const keysIn = ({ filled }: Beside): string => `${filled.population.keys.toLocaleString("en")} keys`;

/** Measures the service on these stores, ascending by their keys, and changes them; the result is a list of tables. */
export const measureBeside = async (all: readonly Beside[], rounds: number): Promise<readonly string[]> => {
  const largest = all.at(-1);
  if (largest === undefined) throw new Error("no size was asked for");
  const step = async (what: string, work: () => Promise<readonly ResultRow[]>): Promise<readonly ResultRow[]> => {
    console.error(what);
    return work();
  };
  const sizes: ResultRow[] = [
    {
      what: "the file, for each key and a tenth of an audit entry",
      unit: "bytes",
      values: all.map(({ filled }) => filled.bytesPerKey),
      goal: { growth: MOST_GROWTH },
    },
  ];
  sizes.push(...(await step("starts", () => measureStarts(all, MOST_GROWTH))));
  sizes.push(...(await step("pages", () => measurePages(all, rounds, MOST_GROWTH))));
  const hot = await step("hot set", () => measureHotSet(largest));
  const memory = await step("memory of cached keys", () => measureCacheMemory(largest));
  sizes.push(...(await step("cold verifications", () => measureCold(all))));
  sizes.push(...(await step("backup, audit verify", () => measureUpkeep(all, MOST_GROWTH))));
  // What follows deletes, and what is deleted is swept beside what comes after it.
  sizes.push(...(await step("deletion and sweep", () => measureDeletion(all))));
  sizes.push(...(await step("other calls", () => measureOthers(all))));
  return [
    resultTable(all.map(keysIn), sizes),
    resultTable(["the only 1,000 keys", `any of 1,000 beside ${keysIn(largest)}`, "any of 10,000"], hot),
    resultTable([`beside ${keysIn(largest)}`], memory),
  ];
};
