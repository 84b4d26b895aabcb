/**
 * `npm run bench:keys [-- --keys N,N,… --mongodb URL --rounds N --minutes N --gigabytes N]`: how long pages of keys take beside
 * ten thousand, a million and (embedded) ten million keys, and how often as long beside the most as beside the fewest (a service
 * for each, asked in turn, so that what else the machine does slows all of them alike); then how long other management calls take beside the most, and what the process needs. The keys are inserted in bulk on an embedded
 * store, or in a database of its own on a MongoDB server, and are removed with it; no more are inserted once that took so many
 * minutes, or the store has so many gigabytes. Asserts nothing; the last column says whether a goal was met.
 */
import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../src/domain/clock.ts";
import { formatTable } from "../src/util/table.ts";
import { type KeyPage, keyPages } from "./keyPages.ts";
import { createPlace, type Place } from "./place.ts";
import { growPopulation, type Population, populate } from "./population.ts";
import { memoryOf } from "./processes.ts";
import { type Served, serve } from "./targets.ts";

const PAGE = 100;
/** How often as long a page may take beside the most keys as beside the fewest. */
const MOST_RATIO = 2;
/** Rounds before anything is measured: the first ones run code that was never compiled, on pages that nobody has read yet. */
const WARM_UP = 10;
const MOST_KEYS = 10_000_000;
/** Fewer would not fill the pages of one identity. */
const LEAST_KEYS = 10_000;
const IDENTITIES = 100_000;
/** Of these; each has more than a page of keys, also beside the fewest. */
const HOLDERS = 50;
/** What is left on the disk for everyone else. */
const LEAST_FREE_BYTES = 10 * 1024 ** 3;
const SECONDS_BETWEEN_LOOKS = 5;

const { values } = parseArgs({
  options: {
    keys: { type: "string" },
    mongodb: { type: "string" },
    rounds: { type: "string", default: "30" },
    minutes: { type: "string", default: "15" },
    gigabytes: { type: "string", default: "20" },
  },
});
const sizes = (values.keys ?? `10000,1000000${values.mongodb === undefined ? ",10000000" : ""}`)
  .split(",")
  .map((text) => Math.min(MOST_KEYS, Math.max(LEAST_KEYS, Math.trunc(Number(text)) || 1_000_000)))
  .sort((a, b) => a - b);
const rounds = Math.min(1_000, Math.max(1, Math.trunc(Number(values.rounds)) || 30));
const mostSeconds = 60 * (Number(values.minutes) || 15);
const mostBytes = 1024 ** 3 * (Number(values.gigabytes) || 20);

interface Row {
  readonly what: string;
  readonly unit: "ms" | "MB";
  readonly measured: readonly number[];
  /** At most this, by the median; undefined = no goal. */
  readonly goal: number | undefined;
}
/** Beside the most keys. */
const rows: Row[] = [];

const median = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

/** Milliseconds that each of `times` calls took, one after the other. */
const timed = async (times: number, work: (round: number) => Promise<unknown>): Promise<number[]> => {
  const measured: number[] = [];
  for (let round = 0; round < times; round++) {
    const startedAt = systemClock.monotonic();
    await work(round);
    measured.push(systemClock.monotonic() - startedAt);
  }
  return measured;
};
const measure = async (what: string, goal: number | undefined, times: number, work: (round: number) => Promise<unknown>): Promise<void> => {
  rows.push({ what, unit: "ms", measured: await timed(times, work), goal });
};

const bytesOnDisk = (dataDir: string): number =>
  readdirSync(dataDir, { recursive: true, encoding: "utf8" }).reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0);
const count = (number: number): string => number.toLocaleString("en");

/** Fills a place with so many keys, or as many as there is time and room for. */
const fill = async (place: Place, keys: number): Promise<Population> => {
  const { DATA_DIR: dataDir = "" } = place.env;
  // Roles and permissions as few as a key of a customer has: they are most of what a key takes on the disk.
  const options = { keys: 0, holders: HOLDERS, identities: IDENTITIES, roles: 1, permissions: 2 };
  const begun = await place.withStore((store) => populate(store, options));
  const startedAt = systemClock.monotonic();
  const seconds = (): number => (systemClock.monotonic() - startedAt) / 1_000;
  let lookedAt = 0;
  let isFull = false;
  const goesOn = (): boolean => {
    if (seconds() - lookedAt >= SECONDS_BETWEEN_LOOKS) {
      lookedAt = seconds();
      const { bavail, bsize } = statfsSync(dataDir);
      isFull = bytesOnDisk(dataDir) > mostBytes || bavail * bsize < LEAST_FREE_BYTES;
    }
    return !isFull && seconds() < mostSeconds;
  };
  const filled = await place.fill((insert) => growPopulation(insert, begun, keys, goesOn));
  const size = place.engine === "embedded" ? `; the store has ${(bytesOnDisk(dataDir) / 1024 ** 3).toFixed(2)} GB` : "";
  const speed = count(Math.round(filled.keys / seconds()));
  console.error(`inserted ${count(filled.keys)} keys in ${seconds().toFixed(0)} s, ${speed} keys/s${size}`);
  if (filled.keys < keys)
    console.error(`${count(keys)} keys take too ${isFull ? "much room" : "long"}: measured beside ${count(filled.keys)}`);
  return filled;
};

/** A service, and what it has. */
interface Beside {
  readonly population: Population;
  readonly served: Served;
  /** Milliseconds from the process to the first answer. */
  readonly startUp: number;
}

const start = async (place: Place, population: Population): Promise<Beside> => {
  const spawnedAt = systemClock.monotonic();
  const served = await serve(place.env, { rootKey: population.rootKey });
  return { population, served, startUp: systemClock.monotonic() - spawnedAt };
};

/** Asks all services for each page in turn, and prints the medians. */
const measurePages = async (services: readonly Beside[]): Promise<void> => {
  const asked = services.map(({ served, population }) => keyPages(served.call, population));
  const measured = asked.map((pages) => pages.map((): number[] => []));
  for (let round = 0; round < WARM_UP + rounds; round++) {
    for (let page = 0; page < (asked[0]?.length ?? 0); page++) {
      for (const [i, pages] of asked.entries()) {
        const { what, keys, ask } = pages[page] as KeyPage;
        const startedAt = systemClock.monotonic();
        const { length } = await ask(round);
        if (round >= WARM_UP) measured[i]?.[page]?.push(systemClock.monotonic() - startedAt);
        if (length !== keys) throw new Error(`${what}: ${length} keys instead of ${keys}`);
      }
    }
  }
  const cells = (asked[0] ?? []).map(({ what }, page) => {
    const medians = measured.map((pages) => median(pages[page] ?? []));
    const ratio = (medians.at(-1) ?? Number.NaN) / (medians[0] ?? Number.NaN);
    return [what, ...medians.map((each) => each.toFixed(1)), `${ratio.toFixed(2)}×`, ratio <= MOST_RATIO ? "met" : "MISSED"];
  });
  const heads = services.map(({ population }) => `${count(population.keys)} keys`);
  console.log(formatTable([["", ...heads, "last / first", `≤ ${MOST_RATIO}×`], ...cells]).join("\n"));
};

/** What else is asked beside the most keys; it ends with deletions. */
const measureOthers = async ({ server, call }: Served, population: Population): Promise<void> => {
  const { apiId, keys, keyIds, key, identityIds, roleIds, permissionIds, holders } = population;
  await measure("keys.getKey", 5, 10 * rounds, (round) =>
    call("keys.getKey", { keyId: keyIds[Math.floor(keyIds.length * ((round * 0.618) % 1))] }),
  );
  await measure("keys.verifyKey, the first time", undefined, 1, () => call("keys.verifyKey", { key }));
  let cursor: string | undefined = "";
  const walked = Math.min(keys / PAGE, 2_000);
  await measure(`apis.listKeys, ${walked} pages one after the other`, 20, walked, async () => {
    const answer: readonly { readonly keyId: string }[] = await call("apis.listKeys", { apiId, limit: PAGE, cursor });
    cursor = answer.at(-1)?.keyId;
  });
  const meanwhile: number[] = [];
  let searching = true;
  const verifying = (async () => {
    while (searching) meanwhile.push(...(await timed(1, () => call("keys.verifyKey", { key }))));
  })();
  try {
    await measure(
      `identities.listIdentities, search without a hit among ${count(identityIds.length)}`,
      undefined,
      Math.min(rounds, 10),
      () => call("identities.listIdentities", { search: "nowhere" }),
    );
  } finally {
    searching = false;
    await verifying;
  }
  rows.push({ what: "keys.verifyKey while it searches", unit: "ms", measured: meanwhile, goal: 20 });
  rows.push({ what: "memory", unit: "MB", measured: [memoryOf(server.pid, "VmRSS")], goal: 400 });
  rows.push({ what: "memory at most", unit: "MB", measured: [memoryOf(server.pid, "VmHWM")], goal: 400 });
  await measure(`permissions.deleteRole, ${count(keys)} keys have it`, 50, 1, () => call("permissions.deleteRole", { role: roleIds[0] }));
  await measure(`permissions.deletePermission, ${count(keys)} keys hold it`, 50, 1, () =>
    call("permissions.deletePermission", { permission: permissionIds[1] }),
  );
  await measure(`identities.deleteIdentity, of ${count(Math.floor(keys / holders))} keys`, 50, 1, () =>
    call("identities.deleteIdentity", { identity: identityIds[0] }),
  );
  await measure(`apis.deleteApi, of ${count(keys)} keys`, 50, 1, () => call("apis.deleteApi", { apiId }));
};

const places: Place[] = [];
const services: Beside[] = [];
try {
  const populations: Population[] = [];
  for (const size of sizes) {
    const place = createPlace(values.mongodb);
    places.push(place);
    const population = await fill(place, size);
    populations.push(population);
    if (population.keys < size) break;
  }
  for (const [i, population] of populations.entries()) services.push(await start(places[i] as Place, population));
  console.log(`${places[0]?.engine} store, Node ${process.version}, median of ${rounds} calls in ms, up to ${PAGE} keys a page`);
  await measurePages(services);
  const most = services.pop();
  if (most === undefined) throw new Error("no size was asked for");
  for (const { served } of services.splice(0)) await served.server.stop();
  services.push(most);
  rows.push({ what: "start-up, from the process to the first answer", unit: "ms", measured: [most.startUp], goal: 2_000 });
  await measureOthers(most.served, most.population);
  console.log(`\nbeside ${count(most.population.keys)} keys`);
} finally {
  for (const { served } of services) await served.server.stop();
  for (const place of places) await place.remove();
}

const cells = rows.map(({ what, unit, measured, goal }) => [
  what,
  `${median(measured).toFixed(1)} ${unit}`,
  `${Math.max(...measured).toFixed(1)} ${unit}`,
  goal === undefined ? "" : `≤ ${goal} ${unit}`,
  goal === undefined ? "" : median(measured) <= goal ? "met" : "MISSED",
]);
console.log(formatTable([["", "median", "at most", "goal", ""], ...cells]).join("\n"));
