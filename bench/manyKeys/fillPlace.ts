import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { Place } from "../place.ts";
import { growPopulation, type Population, populate } from "../population.ts";
import { createVariation } from "./createVariation.ts";
import { insertEntries } from "./insertEntries.ts";

const IDENTITIES = 100_000;
/** Of these; each has more than a page of keys, also beside the fewest. No factor of 10, so that each has keys of all kinds. */
const HOLDERS = 21;
/** Keys for each entry of the audit log. */
const KEYS_PER_ENTRY = 10;
/** What is left on the disk for everyone else. */
const LEAST_FREE_BYTES = 10 * 1024 ** 3;
const SECONDS_BETWEEN_LOOKS = 5;
const SECONDS_BETWEEN_LINES = 30;

/** How long and how large filling may get. */
export interface FillBounds {
  readonly seconds: number;
  readonly bytes: number;
}

/** What a place was filled with. */
export interface Filled {
  readonly population: Population;
  /** Of an API with a tenth of all keys. */
  readonly bigApiId: string;
  /** Of the audit log. */
  readonly entries: number;
  /** Of the embedded store's files, for each key with its indexes and its share of the entries; undefined on MongoDB. */
  readonly bytesPerKey: number | undefined;
}

const bytesOnDisk = (dataDir: string): number =>
  readdirSync(dataDir, { recursive: true, encoding: "utf8" }).reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0);
const count = (number: number): string => number.toLocaleString("en");

const entriesOf = ({ keys }: Population): number => Math.floor(keys / KEYS_PER_ENTRY);

/** Fills an empty place with so many keys, or as many as there is time and room for, and with a tenth as many entries of the audit log. */
export const fillPlace = async (place: Place, keys: number, most: FillBounds): Promise<Filled> => {
  const { DATA_DIR: dataDir = "" } = place.env;
  const [begun, bigApiId] = await place.withStore(async (store) => {
    // Roles and permissions as few as a key of a customer has: they are most of what a key takes on the disk.
    const population = await populate(store, { keys: 0, holders: HOLDERS, identities: IDENTITIES, roles: 1, permissions: 2 });
    const { bigApiId, vary } = await createVariation(store, population);
    return [{ ...population, vary }, bigApiId] as const;
  });
  const bytesBefore = bytesOnDisk(dataDir);
  const startedAt = systemClock.monotonic();
  const seconds = (): number => (systemClock.monotonic() - startedAt) / 1_000;
  let [lookedAt, toldAt] = [0, 0];
  let isFull = false;
  const goesOn = (inserted: number): boolean => {
    if (seconds() - toldAt >= SECONDS_BETWEEN_LINES) {
      toldAt = seconds();
      console.error(`${count(inserted)} of ${count(keys)} keys, ${toldAt.toFixed(0)} s`);
    }
    if (seconds() - lookedAt >= SECONDS_BETWEEN_LOOKS) {
      lookedAt = seconds();
      const { bavail, bsize } = statfsSync(dataDir);
      isFull = bytesOnDisk(dataDir) > most.bytes || bavail * bsize < LEAST_FREE_BYTES;
    }
    return !isFull && seconds() < most.seconds;
  };
  const population = await place.fill(async (insert) => {
    const grown = await growPopulation(insert, begun, keys, goesOn);
    await insertEntries(insert, grown, entriesOf(grown));
    return grown;
  });
  const bytes = place.engine === "embedded" ? bytesOnDisk(dataDir) : undefined;
  const size = bytes === undefined ? "" : `; the store has ${(bytes / 1024 ** 3).toFixed(2)} GB`;
  const speed = count(Math.round(population.keys / seconds()));
  console.error(`inserted ${count(population.keys)} keys in ${seconds().toFixed(0)} s, ${speed} keys/s${size}`);
  if (population.keys < keys)
    console.error(`${count(keys)} keys take too ${isFull ? "much room" : "long"}: measured beside ${count(population.keys)}`);
  const entries = entriesOf(population);
  return { population, bigApiId, entries, bytesPerKey: bytes === undefined ? undefined : (bytes - bytesBefore) / population.keys };
};
