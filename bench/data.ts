/**
 * `npm run bench:data [-- --keys N --events N --mongodb URL]`: how long backup, restore, and the way to MongoDB and back take with a
 * million keys (N at most), and export and import of a week of events (a million unless told; 0: none); how much memory and how many bytes.
 * The table has what the commands themselves take, a database or the engine of analytics beside them does not count. The keys come in by keys.migrateKeys, with identities, roles, permissions, rate limits,
 * credits and an entry of the audit log each; some are verified, so that there are counts. The service runs on while the first
 * backup is taken. Fails where two stores do not hold the same, document by document, or an audit log is not whole;
 * asserts no time. The commands' own words, and what each has taken, go to standard error. Without `--mongodb` the way to MongoDB is left out.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { backedUp } from "../src/operations/backup/backedUp.ts";
import { checkBackup, differencesBetween } from "../src/operations/backup/checkBackup.ts";
import { expiryOf, type Tallies } from "../src/operations/backup/tally.ts";
import { systemClock } from "../src/platform/base/clock.ts";
import { formatTable } from "../src/platform/util/table.ts";
import { digestEvents, loadEvents } from "./analyticsEvents.ts";
import { dropMongoDatabase, freshMongoUrl } from "./harness/mongoDatabases.ts";
import { registerMigration } from "./runCommand.ts";
import { runMeasured } from "./runMeasured.ts";
import { type Served, serve } from "./targets.ts";

const MOST_KEYS = 1_000_000;
/** Keys of one call. */
const BATCH = 1_000;
/** How often a call is made that a machine under load did not answer in time, and the pause before the next. */
const ATTEMPTS = 5;
const PAUSE_MS = 2_000;
const IDENTITIES = 100_000;
const VERIFIED = 2_000;

const { values } = parseArgs({
  options: {
    keys: { type: "string", default: String(MOST_KEYS) },
    events: { type: "string", default: "1000000" },
    mongodb: { type: "string" },
  },
});
const events = Math.max(0, Math.trunc(Number(values.events)) || 0);
const total = Math.min(MOST_KEYS, Math.max(1_000, Math.trunc(Number(values.keys)) || MOST_KEYS));

const quiet = { LOG_LEVEL: "error" };
const root = mkdtempSync(join(tmpdir(), "latchkey-bench-data-"));
/** What each step took; `units`: documents, entries or events. */
interface Step {
  readonly what: string;
  readonly seconds: number;
  readonly cpu: number;
  readonly megabytesOfMemory: number;
  readonly bytes: number | undefined;
  readonly units: (documents: number, entries: number) => number;
}
const steps: Step[] = [];
const everyDocument: Step["units"] = (documents) => documents;
const everyEntry: Step["units"] = (_, entries) => entries;

const tableOf = (documents: number, entries: number): string[] =>
  formatTable([
    ["step", "seconds", "CPU seconds", "documents", "a second", "result, MB", "memory at most, MB"],
    ...steps.map(({ what, seconds, cpu, megabytesOfMemory, bytes, units }) => {
      const count = units(documents, entries);
      return [
        what,
        seconds.toFixed(1),
        cpu.toFixed(1),
        count.toLocaleString("en"),
        (count / seconds).toFixed(0),
        bytes === undefined ? "" : (bytes / 1e6).toFixed(1),
        megabytesOfMemory.toFixed(0),
      ];
    }),
  ]);

const bytesOf = (path: string): number =>
  statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: "utf8" }).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
    : statSync(path).size;

/** Runs `latchkey <args>` in a process of its own, and adds a step. @param result the file or directory that comes of it. */
const run = async (
  what: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { result, units = everyDocument }: { readonly result?: string; readonly units?: Step["units"] } = {},
): Promise<void> => {
  const { seconds, cpuSeconds: cpu, megabytes: megabytesOfMemory } = await runMeasured(args, env);
  const bytes = result === undefined ? undefined : bytesOf(result);
  steps.push({ what, seconds, cpu, megabytesOfMemory, bytes, units });
  console.error(`${what}: ${seconds.toFixed(1)} s, CPU ${cpu.toFixed(1)} s, ${megabytesOfMemory.toFixed(0)} MB`);
};

/** Repeats what failed: of keys that came in all the same there are then a few more. */
const repeatedly = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      console.error(`trying again: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(PAUSE_MS);
    }
  }
};

/** Fills a service with keys, and makes counts of rate limits. */
const fill = async ({ call }: Served, dataDir: string): Promise<void> => {
  const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "bench" });
  const migrationId = registerMigration({ DATA_DIR: dataDir });
  for (const slug of ["documents.read", "documents.write"]) await call("permissions.createPermission", { name: slug, slug });
  for (const name of ["reader", "writer", "admin"]) {
    await call("permissions.createRole", {
      name,
      permissions: name === "reader" ? ["documents.read"] : ["documents.read", "documents.write"],
    });
  }
  for (let from = 0; from < total; from += BATCH) {
    const makeKeys = () =>
      Array.from({ length: Math.min(BATCH, total - from) }, (_, at) => {
        const i = from + at;
        return {
          hash: randomBytes(32).toString("base64"),
          name: `key ${i}`,
          externalId: `user_${i % Math.min(IDENTITIES, total / 10)}`,
          meta: { plan: i % 10 === 0 ? "enterprise" : "pro", seat: i },
          roles: [i % 3 === 0 ? "writer" : "reader"],
          permissions: ["documents.read"],
          ...(i % 2 === 0 ? { credits: { remaining: i } } : {}),
          ratelimits: [{ name: "requests", limit: 100, duration: 60_000, autoApply: true }],
        };
      });
    const { failed } = await repeatedly(() =>
      call<{ failed: readonly string[] }>("keys.migrateKeys", { apiId, migrationId, keys: makeKeys() }),
    );
    if (failed.length > 0) throw new Error(`${failed.length} keys were not taken`);
    if ((from / BATCH) % 100 === 0) console.error(`${from.toLocaleString("en")} keys`);
  }
  const { key } = await call<{ key: string }>("keys.createKey", {
    apiId,
    ratelimits: [{ name: "day", limit: 1_000_000, duration: 86_400_000, autoApply: true }],
  });
  for (let i = 0; i < VERIFIED; i++) {
    await call("keys.verifyKey", { key });
    await call("ratelimit.limit", { namespace: "bench", identifier: `user_${i}`, limit: 10, duration: 86_400_000 });
  }
};

/** A week of events to files, and from there to another engine. Rejects where that does not hold the same. */
const moveEvents = async (): Promise<void> => {
  const [from, to, files] = ["events", "moved", "export"].map((name) => join(root, name)) as [string, string, string];
  console.error(`${events.toLocaleString("en")} events`);
  mkdirSync(from);
  await loadEvents(from, events, 7);
  const units = (): number => events;
  const settings = { ...quiet, ANALYTICS: "embedded" };
  await run("analytics export", ["analytics", "export", files], { ...settings, DATA_DIR: from }, { result: files, units });
  await run("analytics import", ["analytics", "import", files], { ...settings, DATA_DIR: to }, { result: join(to, "analytics"), units });
  const [before, after] = [await digestEvents(from), await digestEvents(to)];
  if (before !== after) throw new Error(`not the same events:\n${before}\n${after}`);
};

/** Collections that differ. What may expire meanwhile is not compared, nor what the store says of itself: its engine, and when it was made. */
const differences = (one: Tallies, another: Tallies): readonly string[] => {
  const compared = (tallies: Tallies): Tallies =>
    Object.fromEntries(backedUp.flatMap((name) => (name === "system" || expiryOf(name) !== undefined ? [] : [[name, tallies[name]]])));
  return differencesBetween(compared(one), compared(another));
};

const [first, restored, back] = ["first", "restored", "back"].map((name) => join(root, name)) as [string, string, string];
const [firstFile, backFile] = [join(root, "first.backup"), join(root, "back.backup")];
const mongodbUrl = values.mongodb === undefined ? undefined : freshMongoUrl(values.mongodb);
try {
  const startedAt = systemClock.monotonic();
  const served = await serve({ DATA_DIR: first });
  await fill(served, first);
  console.error(`${total.toLocaleString("en")} keys in ${((systemClock.monotonic() - startedAt) / 1_000).toFixed(0)} s`);
  // Until all events are in the log, so that what is compared at the end does not change by itself.
  await run("audit verify, embedded", ["audit", "verify"], { ...quiet, DATA_DIR: first }, { units: everyEntry });
  await run("backup beside the service", ["backup", firstFile], { ...quiet, DATA_DIR: first }, { result: firstFile });
  await served.server.stop();
  await run("restore, embedded", ["restore", firstFile], { ...quiet, DATA_DIR: restored }, { result: restored });
  await run("audit verify of it", ["audit", "verify"], { ...quiet, DATA_DIR: restored }, { units: everyEntry });
  let last = restored;
  if (mongodbUrl !== undefined) {
    const file = join(root, "import.backup");
    const toMongo = { ...quiet, MONGODB_URL: mongodbUrl };
    await run("import, embedded to MongoDB", ["import", "--from-data-dir", restored, "--file", file], toMongo);
    await run("audit verify, MongoDB", ["audit", "verify"], toMongo, { units: everyEntry });
    const toEmbedded = { ...quiet, FROM_MONGODB_URL: mongodbUrl, DATA_DIR: back };
    await run("import, MongoDB to embedded", ["import", "--file", file], toEmbedded, { result: back });
    await run("audit verify of it", ["audit", "verify"], { ...quiet, DATA_DIR: back }, { units: everyEntry });
    last = back;
  }
  await run("backup at the end", ["backup", backFile], { ...quiet, DATA_DIR: last }, { result: backFile });
  const [before, after] = [await checkBackup(firstFile), await checkBackup(backFile)];
  if (events > 0) await moveEvents();
  console.log(tableOf(before.documents, before.entries).join("\n"));
  const counts = backedUp.flatMap((name) => {
    const { documents = 0 } = before.end.tallies[name] ?? {};
    return documents === 0 ? [] : [`${name} ${documents.toLocaleString("en")}`];
  });
  console.log(`\n${before.documents.toLocaleString("en")} documents: ${counts.join(", ")}`);
  const different = differences(before.end.tallies, after.end.tallies);
  if (different.length > 0 || before.fault !== undefined || after.fault !== undefined) {
    throw new Error(`not the same at the end: ${[...different, before.fault, after.fault].filter(Boolean).join(", ")}`);
  }
  console.log("The first and the last store hold the same documents, and their audit logs are whole.");
  if (events > 0) console.log("Both engines of analytics hold the same events and sums.");
} finally {
  rmSync(root, { recursive: true, force: true });
  if (mongodbUrl !== undefined) await dropMongoDatabase(mongodbUrl);
}
