/**
 * `npm run visibility [-- --rounds N] [--revocations N] [--mongodb URL]`: how soon a change that one process makes is seen by
 * another one on the same MongoDB database.
 *
 * First for each kind of change, as a histogram: by a process that hears of changes, then, once, by one whose feed of changes
 * is switched off. Each round makes one change of every kind at the same time.
 *
 * Then as a history of revocations on three nodes, which are killed and cut off from the store as they acknowledge: a call that
 * begins more than a second after an acknowledgement and neither knows of it nor says so is a violation. Exits with 1 when there
 * is one, and when there is none with the guard switched off: then this program would find none.
 */
import { parseArgs } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { dropMongoDatabase, freshMongoUrl } from "./harness/mongoDatabases.ts";
import { type History, writeHistory } from "./visibilityRuns/history.ts";
import { type Kind, kinds } from "./visibilityRuns/kinds.ts";
import { measure, startCluster } from "./visibilityRuns/measure.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "20" }, revocations: { type: "string", default: "1000" }, mongodb: { type: "string" } },
});
const count = (text: string, byDefault: number): number => (/^\d{1,6}$/.test(text) ? Number(text) : byDefault);
const rounds = count(values.rounds, 20);
const revocations = count(values.revocations, 1_000);
/** Without the guard a few are enough to find what it guards from. */
const UNGUARDED = 60;
const server = values.mongodb ?? process.env.MONGODB_URL;
if (server === undefined) {
  console.error("Name a MongoDB server with --mongodb or MONGODB_URL: the embedded store has one process.");
  process.exit(2);
}

/** Upper bounds of the histogram's buckets, milliseconds. */
const BUCKETS = [50, 100, 200, 300, 400, 500, 600, 800, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000];

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;

const print = (title: string, delays: ReadonlyMap<Kind, readonly number[]>): void => {
  const all = [...delays.values()].flat();
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const last = BUCKETS.findIndex((bound) => most <= bound);
  const bounds = BUCKETS.slice(
    BUCKETS.findIndex((bound) => least <= bound),
    last === -1 ? undefined : last + 1,
  );
  const shown = (name: string, samples: readonly number[]): string[] => {
    const sorted = [...samples].sort((a, b) => a - b);
    const counts = bounds.map((bound, i) => sorted.filter((delay) => delay <= bound && (i === 0 || delay > (bounds[i - 1] ?? 0))).length);
    const beyond = sorted.filter((delay) => delay > (bounds.at(-1) ?? 0)).length;
    const figures = [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1) ?? Number.NaN].map((ms) => ms.toFixed(0));
    return [name, `${sorted.length}`, ...figures, ...[...counts, beyond].map((count) => (count === 0 ? "." : `${count}`))];
  };
  const rows = [...delays].map(([kind, samples]) => shown(kind.name, samples));
  const header = ["", "changes", "p50 ms", "p99 ms", "max ms", ...bounds.map((bound) => `≤${bound}`), "more"];
  console.log(`\n${title}`);
  for (const line of formatTable([header, ...rows, shown("all", all)])) console.log(line);
};

const measureKinds = async (): Promise<void> => {
  const url = freshMongoUrl(server);
  try {
    await using cluster = await startCluster(url);
    const { writer, hearing, deaf } = cluster;
    const heard = new Map(kinds.map((kind): [Kind, number[]] => [kind, []]));
    for (let round = 0; round < rounds; round++) {
      await Promise.all(kinds.map(async (kind) => heard.get(kind)?.push(...(await measure(kind, writer, [hearing])))));
    }
    print(`Seen by a process that hears of changes, ${rounds} rounds:`, heard);
    const ranOut = await Promise.all(kinds.map(async (kind): Promise<[Kind, number[]]> => [kind, await measure(kind, writer, [deaf])]));
    print("Seen by a process whose feed of changes is switched off:", new Map(ranOut));
  } finally {
    await dropMongoDatabase(url);
  }
};

const tell = ({ revocations: told, kills, cuts, calls, longestLateness, violations }: History): readonly string[] =>
  [told, kills, cuts, calls.revoked, calls.old, calls.degraded, calls.unavailable, longestLateness.toFixed(0), violations].map(String);

const checkHistory = async (): Promise<boolean> => {
  const guarded = await writeHistory(server, revocations);
  const unguarded = await writeHistory(server, Math.min(revocations, UNGUARDED), { guarded: false });
  const header = ["", "revocations", "kills", "cuts", "knew", "not yet", "degraded", "503", "latest ms", "violations"];
  console.log("\nCalls after the acknowledgement of a revocation, by nodes of which one is killed or cut off as it acknowledges:");
  for (const line of formatTable([header, ["as they are", ...tell(guarded)], ["guard switched off", ...tell(unguarded)]]))
    console.log(line);
  return guarded.violations === 0 && unguarded.violations > 0;
};

if (rounds > 0) await measureKinds();
if (revocations > 0 && !(await checkHistory())) process.exitCode = 1;
