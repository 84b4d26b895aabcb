/**
 * `npm run bench:keys [-- --keys N,N,… --mongodb URL --rounds N --minutes N --gigabytes N]`: the service beside ten
 * thousand, a million and (embedded) ten million keys of all kinds in APIs of all sizes, and how often as much beside the most as beside
 * the fewest: the file, the start, pages of keys (of a service for each, asked in turn, so that what else the machine does slows
 * all of them alike), verifications of a hot set, of keys that are not cached, and beside a sweep, memory, backup, and the check of the audit
 * log. The keys are inserted in bulk on an embedded
 * store, or in a database of its own on a MongoDB server, and are removed with it; no more are inserted once that took so many
 * minutes, or the store has so many gigabytes. Progress goes to standard error. Asserts nothing; the last column says whether a goal was met.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Beside } from "./manyKeys/beside.ts";
import { fillPlace } from "./manyKeys/fillPlace.ts";
import { measureBeside } from "./manyKeys/measureBeside.ts";
import { createPlace, type Place } from "./place.ts";

const MOST_KEYS = 10_000_000;
/** Fewer would not fill the pages of one identity. */
const LEAST_KEYS = 10_000;

const { values } = parseArgs({
  options: {
    keys: { type: "string" },
    mongodb: { type: "string" },
    rounds: { type: "string", default: "30" },
    minutes: { type: "string", default: "30" },
    gigabytes: { type: "string", default: "20" },
  },
});
const sizes = (values.keys ?? `10000,1000000${values.mongodb === undefined ? ",10000000" : ""}`)
  .split(",")
  .map((text) => Math.min(MOST_KEYS, Math.max(LEAST_KEYS, Math.trunc(Number(text)) || 1_000_000)))
  .sort((a, b) => a - b);
const rounds = Math.min(1_000, Math.max(1, Math.trunc(Number(values.rounds)) || 30));
const most = { seconds: 60 * (Number(values.minutes) || 30), bytes: 1024 ** 3 * (Number(values.gigabytes) || 20) };

const load = (): string =>
  loadavg()
    .map((each) => each.toFixed(1))
    .join(", ");

const places: Place[] = [];
try {
  const all: Beside[] = [];
  for (const size of sizes) {
    const place = createPlace(values.mongodb);
    places.push(place);
    const filled = await fillPlace(place, size, most);
    all.push({ place, filled });
    if (filled.population.keys < size) break;
  }
  console.log(`${places[0]?.engine} store, Node ${process.version}, median of ${rounds} calls`);
  console.log(`load of the machine (1, 5, 15 minutes) before: ${load()}`);
  for (const table of await measureBeside(all, rounds)) console.log(`\n${table}`);
  console.log(`\nload of the machine afterwards: ${load()}`);
} finally {
  for (const place of places) await place.remove();
}
