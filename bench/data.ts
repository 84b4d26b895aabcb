/**
 * `npm run bench:data [-- --keys N --mongodb URL]`: how long backup, restore, and the way to MongoDB and back take with a million keys
 * (N at most), how much memory and how many bytes. The keys come in by keys.migrateKeys, with identities, roles, permissions, rate limits,
 * credits and an entry of the audit log each; some are verified, so that there are counts. The service runs on while the first
 * backup is taken. Fails where two stores do not hold the same, document by document, or an audit log is not whole;
 * asserts no time. Without `--mongodb` the way to MongoDB is left out.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { backedUp } from "../src/backup/backedUp.ts";
import { checkBackup, differencesBetween } from "../src/backup/checkBackup.ts";
import { expiryOf, type Tallies } from "../src/backup/tally.ts";
import { systemClock } from "../src/domain/clock.ts";
import { formatTable } from "../src/util/table.ts";
import { spawnLatchkey } from "./harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "./harness/mongoDatabases.ts";
import { cpuSecondsOf, memoryOf } from "./processes.ts";
import { registerMigration } from "./registerMigration.ts";
import { type Served, serve } from "./targets.ts";

const MOST_KEYS = 1_000_000;
/** Keys of one call. */
const BATCH = 5_000;
const IDENTITIES = 100_000;
const VERIFIED = 2_000;
const LOOK_EVERY_MS = 50;

const { values } = parseArgs({ options: { keys: { type: "string", default: String(MOST_KEYS) }, mongodb: { type: "string" } } });
const total = Math.min(MOST_KEYS, Math.max(1_000, Math.trunc(Number(values.keys)) || MOST_KEYS));

const root = mkdtempSync(join(tmpdir(), "latchkey-bench-data-"));
const rows: string[][] = [["", "seconds", "CPU seconds", "memory at most, MB", "result, MB", "MB a second"]];

const bytesOf = (path: string): number =>
  statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: "utf8" }).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
    : statSync(path).size;

/** Runs `latchkey <args>` in a process of its own, and adds a row. @param result the file or directory that comes of it. */
const run = async (what: string, args: readonly string[], env: Readonly<Record<string, string>>, result?: string): Promise<void> => {
  const startedAt = systemClock.monotonic();
  const child = spawnLatchkey(args, env);
  let cpu = 0;
  let memory = 0;
  const look = setInterval(() => {
    try {
      const { pid = 0 } = child;
      cpu = cpuSecondsOf(pid);
      // One that has ended, and that nobody has noticed yet, has none.
      memory = memoryOf(pid, "VmHWM") || memory;
    } catch {
      // It has just ended.
    }
  }, LOOK_EVERY_MS);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => process.stderr.write(`  ${text}`));
  }
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  child.on("close", resolve);
  const code = await ended;
  clearInterval(look);
  if (code !== 0) throw new Error(`latchkey ${args.join(" ")} ended with ${code}`);
  const seconds = (systemClock.monotonic() - startedAt) / 1_000;
  const megabytes = result === undefined ? undefined : bytesOf(result) / 1e6;
  rows.push([
    what,
    seconds.toFixed(1),
    cpu.toFixed(1),
    memory.toFixed(0),
    megabytes?.toFixed(1) ?? "",
    megabytes === undefined ? "" : (megabytes / seconds).toFixed(1),
  ]);
  console.error(`${what}: ${seconds.toFixed(1)} s`);
};

/** Fills a service with keys, and makes counts of rate limits. */
const fill = async ({ call }: Served, dataDir: string): Promise<void> => {
  const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "bench" });
  const migrationId = registerMigration(dataDir);
  for (const slug of ["documents.read", "documents.write"]) await call("permissions.createPermission", { name: slug, slug });
  for (const name of ["reader", "writer", "admin"]) {
    await call("permissions.createRole", {
      name,
      permissions: name === "reader" ? ["documents.read"] : ["documents.read", "documents.write"],
    });
  }
  for (let from = 0; from < total; from += BATCH) {
    const keys = Array.from({ length: Math.min(BATCH, total - from) }, (_, at) => {
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
    const { failed } = await call<{ failed: readonly string[] }>("keys.migrateKeys", { apiId, migrationId, keys });
    if (failed.length > 0) throw new Error(`${failed.length} keys were not taken`);
    if ((from / BATCH) % 20 === 0) console.error(`${from.toLocaleString("en")} keys`);
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

/** Collections that differ. What may expire meanwhile is not compared, nor what the store says of itself: its engine, and when it was made. */
const differences = (one: Tallies, another: Tallies): readonly string[] => {
  const compared = (tallies: Tallies): Tallies =>
    Object.fromEntries(backedUp.flatMap((name) => (name === "system" || expiryOf(name) !== undefined ? [] : [[name, tallies[name]]])));
  return differencesBetween(compared(one), compared(another));
};

const [first, restored, back] = ["first", "restored", "back"].map((name) => join(root, name)) as [string, string, string];
const [firstFile, backFile] = [join(root, "first.backup"), join(root, "back.backup")];
const mongodbUrl = values.mongodb === undefined ? undefined : freshMongoUrl(values.mongodb);
const quiet = { LOG_LEVEL: "error" };
try {
  const startedAt = systemClock.monotonic();
  const served = await serve({ DATA_DIR: first });
  await fill(served, first);
  console.error(`${total.toLocaleString("en")} keys in ${((systemClock.monotonic() - startedAt) / 1_000).toFixed(0)} s`);
  // Until all events are in the log, so that what is compared at the end does not change by itself.
  await run("audit verify, embedded", ["audit", "verify"], { ...quiet, DATA_DIR: first });
  await run("backup beside the service", ["backup", firstFile], { ...quiet, DATA_DIR: first }, firstFile);
  await served.server.stop();
  await run("restore, embedded", ["restore", firstFile], { ...quiet, DATA_DIR: restored }, restored);
  await run("audit verify of it", ["audit", "verify"], { ...quiet, DATA_DIR: restored });
  let last = restored;
  if (mongodbUrl !== undefined) {
    const file = join(root, "import.backup");
    const toMongo = { ...quiet, MONGODB_URL: mongodbUrl };
    await run("import, embedded to MongoDB", ["import", "--from-data-dir", restored, "--file", file], toMongo);
    await run("audit verify, MongoDB", ["audit", "verify"], toMongo);
    await run("import, MongoDB to embedded", ["import", "--file", file], { ...quiet, FROM_MONGODB_URL: mongodbUrl, DATA_DIR: back }, back);
    await run("audit verify of it", ["audit", "verify"], { ...quiet, DATA_DIR: back });
    last = back;
  }
  await run("backup at the end", ["backup", backFile], { ...quiet, DATA_DIR: last }, backFile);
  const [before, after] = [await checkBackup(firstFile), await checkBackup(backFile)];
  console.log(formatTable(rows).join("\n"));
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
} finally {
  rmSync(root, { recursive: true, force: true });
  if (mongodbUrl !== undefined) await dropMongoDatabase(mongodbUrl);
}
