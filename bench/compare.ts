/**
 * `npm run bench:compare -- REVISION [--rounds N] [--seconds N] [--only row,row] [--json]`: the speed of this checkout beside
 * that of another revision of it. The services of both run as `npm start` of their revision does, on the Node of this checkout,
 * each on an empty store of its own; they are warmed up, then loaded in turn by the same client over the public API, so that a
 * noisy minute hits both. With MONGODB_URL the rows whose cost depends on the store run on that server, too. Asserts nothing.
 *
 * Rows: verify-unlimited, verify, limit-embedded, limits-embedded, grpc-verify, credits-one, credits-many, create;
 * with MONGODB_URL: limit-MongoDB, limits-MongoDB, credits-one-MongoDB, credits-many-MongoDB, create-MongoDB.
 */
import { parseArgs } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { checkOut } from "./comparison/checkOut.ts";
import { type ComparedRow, compareRounds } from "./comparison/compareRounds.ts";
import { ROWS, type Side, startSide } from "./comparison/startSide.ts";
import { callOnce } from "./load.ts";
import { type Measurement, measureWarm } from "./measureTarget.ts";
import { isPinned, ownRoot } from "./processes.ts";
import { type Target, warmUp } from "./targets.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const whole = (text: string, least: number, most: number): number => Math.min(most, Math.max(least, Math.trunc(Number(text)) || least));
const rounds = whole(values.rounds, 1, 50);
const seconds = whole(values.seconds, 1, 60);
const { MONGODB_URL: mongodbUrl } = process.env;
const [revision] = positionals;
if (revision === undefined || positionals.length > 1)
  throw new Error("usage: npm run bench:compare -- REVISION [--rounds N] [--seconds N]");

const possible = [...ROWS.embedded, ...(mongodbUrl === undefined ? [] : ROWS.MongoDB)];
const wanted = values.only?.split(",") ?? possible;
const unknown = wanted.filter((row) => !possible.includes(row));
if (unknown.length > 0) throw new Error(`there is no row ${unknown.join(", ")}, but ${possible.join(", ")}`);

const say = (text: string): void => console.error(text);

interface NamedRow extends ComparedRow {
  readonly name: string;
  readonly description: string;
}

const measureRow = async (before: Target, after: Target): Promise<NamedRow> => {
  const { name, description } = after;
  const sides = [before, after] as const;
  const servers = sides.map(({ server }) => server);
  for (const target of sides) {
    say(`${name}: warming up ${target === before ? revision : "this checkout"}`);
    await callOnce(target.call);
    await warmUp(target);
  }
  const measured = new Map<Target, Measurement[]>(sides.map((target) => [target, []]));
  for (let round = 0; round < rounds; round++) {
    // Each is the first in half of the rounds: what the one leaves behind may cost the other.
    for (const target of round % 2 === 0 ? sides : sides.toReversed()) {
      measured.get(target)?.push(await measureWarm(target, seconds, servers));
    }
  }
  const row = { name, description, ...compareRounds(measured.get(before) ?? [], measured.get(after) ?? []) };
  say(`${name}: calls/s ${row.ratio.perSecond.toFixed(2)}, CPU ${row.ratio.cpu.toFixed(2)}`);
  return row;
};

/** Compares the rows on one engine. @param running gets the services. */
const compareOn = async (running: AsyncDisposableStack, roots: readonly string[], url: string | undefined): Promise<NamedRow[]> => {
  const rows = wanted.filter((row) => ROWS[url === undefined ? "embedded" : "MongoDB"].includes(row));
  if (rows.length === 0) return [];
  const sides: Side[] = [];
  for (const root of roots) {
    say(`starting the service of ${root}${url === undefined ? "" : " on MongoDB"}`);
    sides.push(running.adopt(await startSide(root, url), ({ stop }) => stop()));
  }
  const compared: NamedRow[] = [];
  for (const row of rows) {
    const [before, after] = sides.map(({ targetOf }) => targetOf(row));
    if (before === undefined || after === undefined) throw new Error("a side is missing");
    compared.push(await measureRow(before, after));
  }
  return compared;
};

/** Undone at the end, in whatever way that comes. */
const undo = new AsyncDisposableStack();
const interrupted = Promise.withResolvers<never>();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.reject(new Error(`ended by ${signal}`)));

const compare = async (): Promise<void> => {
  const { root, commit } = undo.adopt(checkOut(revision, say), ({ remove }) => remove());
  const roots = [root, ownRoot];
  const results: NamedRow[] = [];
  for (const url of new Set([undefined, mongodbUrl])) {
    const running = undo.use(new AsyncDisposableStack());
    results.push(...(await compareOn(running, roots, url)));
    await running.disposeAsync();
  }
  if (values.json) {
    console.log(JSON.stringify({ revision: commit, node: process.version, pinned: isPinned, rounds, seconds, results }, null, 2));
    return;
  }
  const count = (value: number): string => Math.round(value).toLocaleString("en");
  const header = ["calls", `calls/s, ${commit}`, "this checkout", "ratio", `CPU µs/call, ${commit}`, "this checkout", "ratio", "errors"];
  const cells = results.map(({ description, perSecond, cpu, ratio, errors }) => [
    description,
    count(perSecond.before),
    count(perSecond.after),
    ratio.perSecond.toFixed(2),
    cpu.before.toFixed(1),
    cpu.after.toFixed(1),
    ratio.cpu.toFixed(2),
    String(errors),
  ]);
  console.log(formatTable([header, ...cells]).join("\n"));
  console.log(`\nabove 1, this checkout does more calls, or needs less CPU time for each; medians of ${rounds} × ${seconds} s`);
};

let failure: unknown;
try {
  await Promise.race([compare(), interrupted.promise]);
} catch (cause) {
  failure = cause;
}
say("stopping the services and removing the checkout");
await undo.disposeAsync();
if (failure !== undefined) throw failure;
