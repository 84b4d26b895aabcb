/**
 * `npm run accuracy [-- --all] [--json]`: how exactly several nodes keep one limit together (contract: ratelimit §13).
 * Puts every combination of the matrix on real limiters in virtual time, over a store that needs 2 to 6 ms to answer.
 * Prints a row per limit and number of nodes with the sums over its loads and lengths, with `--all` a row per
 * combination. With MONGODB_URL it also loads three processes on that server in real time, which count on that of COUNTERS_URL if
 * that is set. Fails when anything was
 * admitted beyond a limit, or less than 95 % of what one node admits.
 */
import { parseArgs } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { startCluster } from "./limiterRuns/cluster.ts";
import { type Accuracy, loads, simulate } from "./limiterRuns/matrix.ts";
import { runReal } from "./limiterRuns/realRun.ts";

const { values } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

type Figures = Pick<Accuracy, "total" | "admitted" | "allowed" | "overAdmitted">;

const count = (value: number): string => value.toLocaleString("en");
const percent = ({ admitted, allowed }: Figures): string => `${((100 * admitted) / allowed).toFixed(2)} %`;
const per1000 = (operations: number, total: number): string => count(Math.round((1_000 * operations) / total));
const limitOf = ({ limit, duration }: Accuracy): string => `${count(limit)} per ${duration / 1_000} s`;
const cellsOf = (figures: Figures & { readonly storeOperations: number }): string[] => [
  count(figures.admitted),
  count(figures.allowed),
  count(figures.overAdmitted),
  percent(figures),
  per1000(figures.storeOperations, figures.total),
];

const sum = (rows: readonly Accuracy[]): Figures & { readonly storeOperations: number } => {
  const add = (name: "total" | "admitted" | "allowed" | "overAdmitted" | "storeOperations"): number =>
    rows.reduce((total, row) => total + row[name], 0);
  return {
    total: add("total"),
    admitted: add("admitted"),
    allowed: add("allowed"),
    overAdmitted: add("overAdmitted"),
    storeOperations: add("storeOperations"),
  };
};

const results: Accuracy[] = [];
for (const load of loads) results.push(...(await simulate(load)));

const { MONGODB_URL: server, COUNTERS_URL: counters } = process.env;
const real =
  server === undefined
    ? undefined
    : await (async () => {
        await using cluster = await startCluster(server, 3, { RATELIMIT_STORE_DOWN: "deny", COUNTERS_URL: counters });
        return await runReal(cluster);
      })();

const figures = ["admitted", "allowed", "over-admitted", "share", "store operations per 1,000 checks"];
if (values.json) {
  console.log(JSON.stringify({ simulated: results, ...(real ? { real } : {}) }, null, 2));
} else if (values.all) {
  const rows = results.map((row) => [String(row.nodes), limitOf(row), String(row.factor), String(row.windows), ...cellsOf(row)]);
  console.log(formatTable([["nodes", "limit", "load", "windows", ...figures], ...rows]).join("\n"));
} else {
  const groups = Map.groupBy(results, (row) => `${row.nodes} ${limitOf(row)}`);
  const rows = [...groups.values()].map((group) => {
    const [first] = group as [Accuracy];
    const worst = group.reduce((least, row) => Math.min(least, row.admitted / row.allowed), 1);
    return [String(first.nodes), limitOf(first), ...cellsOf(sum(group)), `${(100 * worst).toFixed(2)} %`];
  });
  console.log(formatTable([["nodes", "limit", ...figures, "least share"], ...rows]).join("\n"));
}
if (real && !values.json) {
  const rows = real.results.map((row) => [
    ...[String(row.nodes), limitOf({ ...row, storeOperations: 0 }), String(row.factor), String(row.windows)],
    ...cellsOf({ ...row, storeOperations: 0 }).slice(0, 4),
  ]);
  console.log(`\nThree processes on one MongoDB server${counters === undefined ? "" : " that count on COUNTERS_URL"}, at the same time:`);
  console.log(formatTable([["nodes", "limit", "load", "windows", ...figures.slice(0, 4)], ...rows]).join("\n"));
  const total = real.results.reduce((checks, row) => checks + row.total, 0);
  console.log(`store operations per 1,000 checks, all together: ${per1000(real.storeOperations, total)}`);
}

const wrong = [...results, ...(real?.results ?? [])].filter((row) => row.overAdmitted > 0 || row.admitted < 0.95 * row.allowed);
if (wrong.length > 0) {
  console.error(`${wrong.length} combinations are out of bounds`);
  process.exitCode = 1;
}
