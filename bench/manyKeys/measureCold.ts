import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { hashKey } from "../../src/platform/secrets/keySecret.ts";
import { WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import { median, percentile } from "../median.ts";
import { keyOf } from "../population.ts";
import { type Beside, withService } from "./beside.ts";
import { dropFile } from "./dropFile.ts";
import { metricSum } from "./metricSum.ts";
import type { ResultRow } from "./resultRows.ts";
import { timed } from "./timed.ts";

/** Keys of each of two sets, no more than a quarter of those whose number ends in 9 beside the fewest. */
const KEYS = 200;
/** A cold verification takes no longer than so often a cached one and the reads that it needs. */
const MOST_RATIO = 1.5;
const COLLECTIONS = 'collection="(?:keys|apis|identities|roles|permissions)"';

/** What one verification of a key that nobody has seen reads, straight from the file. */
const openReads = (file: string) => {
  const database = new DatabaseSync(file, { readOnly: true });
  const key = database.prepare("SELECT doc FROM keys WHERE workspaceId=? AND hash=?");
  const api = database.prepare("SELECT doc FROM apis WHERE id=?");
  return {
    read: async (secret: string): Promise<void> => {
      const row = key.get(WORKSPACE_ID, hashKey(secret));
      const { apiId } = JSON.parse(String(row?.doc)) as KeyDocument;
      if (api.get(apiId) === undefined) throw new Error(`${secret} is of no API`);
    },
    close: () => database.close(),
  };
};

/** Milliseconds of each. */
interface Measured {
  readonly cached: readonly number[];
  readonly reads: number;
  readonly warm: readonly number[];
  readonly warmReads: readonly number[];
  readonly cold: readonly number[];
  readonly coldReads: readonly number[];
}

const measure = async (beside: Beside): Promise<Measured> => {
  const { keys } = beside.filled.population;
  const file = join(beside.place.env.DATA_DIR ?? "", "latchkey.sqlite");
  // Keys without a limit, whose first check is a write; of APIs of all sizes, spread over all of the file.
  const secrets = Array.from({ length: 2 * KEYS }, (_, i) => keyOf(10 * Math.floor((keys / 10) * ((i * 0.618_034) % 1)) + 9));
  const [one, another] = [secrets.slice(0, KEYS), secrets.slice(KEYS)];
  return withService(beside, async ({ adminUrl, call }) => {
    const verify = async (secret: string): Promise<void> => {
      const { code } = await call<{ code: string }>("keys.verifyKey", { key: secret });
      if (code !== "VALID") throw new Error(`a key is ${code}`);
    };
    const took = async (work: (secret: string) => Promise<void>, secret: string | undefined): Promise<number> =>
      (await timed(1, () => work(secret ?? "")))[0] ?? Number.NaN;
    const counted = (): Promise<number> => metricSum(adminUrl, "latchkey_store_operations_total", COLLECTIONS);
    const drop = (): boolean => {
      const why = dropFile(file);
      if (why !== undefined) console.error(`pages are not cold: ${why}`);
      return why === undefined;
    };
    // Compiled, and with roles and permissions in memory, before anything is measured.
    for (let i = 0; i < KEYS; i++) await verify(keyOf(100 * (i % Math.floor(keys / 100)) + 4));
    const reads = openReads(file);
    try {
      /** Reads the one and verifies the other, in turn: what else the machine does slows both alike. */
      const inTurn = async (read: readonly string[], verified: readonly string[]): Promise<[number[], number[]]> => {
        const [ofReads, ofCalls]: [number[], number[]] = [[], []];
        for (let i = 0; i < KEYS; i++) {
          ofReads.push(await took(reads.read, read[i]));
          ofCalls.push(await took(verify, verified[i]));
        }
        return [ofReads, ofCalls];
      };
      // Each key is verified once while the service does not know it, and read once while its pages are on the disk.
      const [coldReads, cold] = drop() ? await inTurn(one, another) : [[], []];
      const before = await counted();
      const [warmReads, warm] = await inTurn(another, one);
      const perCall = ((await counted()) - before) / KEYS;
      const [, cached] = await inTurn(another, one);
      return { cached, reads: perCall, warm, warmReads, cold, coldReads };
    } finally {
      reads.close();
    }
  });
};

/** Verifications of keys that the service has not seen, with the pages of the embedded store's file in memory and not, beside the reads that they need. */
export const measureCold = async (all: readonly Beside[]): Promise<readonly ResultRow[]> => {
  if (all[0]?.place.engine !== "embedded") {
    console.error("cold verification is measured on the embedded store only");
    return [];
  }
  const measured: Measured[] = [];
  for (const beside of all) measured.push(await measure(beside));
  const value = (number: number): number | undefined => (Number.isNaN(number) ? undefined : number);
  const row = (what: string, unit: string, pick: (each: Measured) => number): ResultRow => ({
    what,
    unit,
    values: measured.map((each) => value(pick(each))),
  });
  const both = (what: string, pick: (each: Measured) => readonly number[]): readonly ResultRow[] => [
    row(`${what}, p50`, "ms", (each) => median(pick(each))),
    row(`${what}, p99`, "ms", (each) => percentile(pick(each), 0.99)),
  ];
  const ratio = (what: string, took: (each: Measured) => readonly number[], needed: (each: Measured) => readonly number[]): ResultRow => ({
    ...row(what, "×", (each) => median(took(each)) / (median(each.cached) + median(needed(each)))),
    goal: { most: MOST_RATIO },
  });
  return [
    ...both("keys.verifyKey, cached", ({ cached }) => cached),
    row("reads of the store for one that is not cached", "", ({ reads }) => reads),
    ...both("keys.verifyKey, pages in memory", ({ warm }) => warm),
    ...both("its reads alone", ({ warmReads }) => warmReads),
    ratio(
      "of a cached one and these reads",
      ({ warm }) => warm,
      ({ warmReads }) => warmReads,
    ),
    ...both("keys.verifyKey, pages on the disk", ({ cold }) => cold),
    ...both("its reads alone, pages on the disk", ({ coldReads }) => coldReads),
    ratio(
      "of a cached one and these reads, pages on the disk",
      ({ cold }) => cold,
      ({ coldReads }) => coldReads,
    ),
  ];
};
