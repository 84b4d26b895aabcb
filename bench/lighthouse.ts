/**
 * `npm run ui:lighthouse [-- --rounds N]`: what Lighthouse says of the console (accessibility, performance, best practices), on
 * the sign-in page and signed in on the overview of a store with some keys and verifications, as a desktop and as a slow phone.
 * Needs Chromium (`CHROMIUM`, default `/usr/bin/chromium`); npx installs Lighthouse. Prints the median of each score, says
 * what costs points, and fails when accessibility is below 100 or performance on a desktop below 95.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { openConsoleSession } from "./harness/consoleSession.ts";
import { median } from "./median.ts";
import { createPlace } from "./place.ts";
import { type Served, serve } from "./targets.ts";

const LIGHTHOUSE = "lighthouse@13.5.0";
const ACCESSIBILITY_GOAL = 100;
const PERFORMANCE_GOAL = 95;
const KEYS = 200;
const VERIFICATIONS = 500;

const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" } } });
const rounds = Math.min(9, Math.max(1, Math.trunc(Number(values.rounds)) || 3));

/** What is read of Lighthouse's report. */
interface Report {
  readonly categories: Readonly<Record<string, { readonly score: number | null; readonly auditRefs: readonly AuditRef[] }>>;
  readonly audits: Readonly<Record<string, { readonly title: string; readonly score: number | null; readonly displayValue?: string }>>;
}

interface AuditRef {
  readonly id: string;
  readonly weight: number;
}

interface Visit {
  readonly path: string;
  /** Undefined: not signed in. */
  readonly cookie: string | undefined;
  readonly device: "desktop" | "phone";
}

const run = promisify(execFile);
const scoreOf = ({ categories }: Report, category: string): number => Math.round(100 * (categories[category]?.score ?? Number.NaN));

/** Audits that cost points, with what they measured. */
const losses = ({ categories, audits }: Report): readonly string[] =>
  Object.values(categories)
    .flatMap(({ auditRefs }) => auditRefs.filter(({ weight }) => weight > 0))
    .flatMap(({ id }) => {
      const { title, score = null, displayValue = "" } = audits[id] ?? { title: id };
      return score === null || score >= 0.9 ? [] : [`${title} ${displayValue}`.trim()];
    });

const visit = async (url: string, directory: string, { path, cookie, device }: Visit): Promise<Report> => {
  // In files: a session's token is not for the list of processes.
  const headers = join(directory, "headers.json");
  await writeFile(headers, JSON.stringify(cookie === undefined ? {} : { cookie }));
  const output = join(directory, "report.json");
  const flags = ["--quiet", "--output=json", `--output-path=${output}`, `--extra-headers=${headers}`];
  await run(
    "npx",
    [
      "--yes",
      LIGHTHOUSE,
      url + path,
      ...flags,
      ...(device === "desktop" ? ["--preset=desktop"] : []),
      "--only-categories=accessibility,performance,best-practices",
      "--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage",
    ],
    { env: { ...process.env, CHROME_PATH: process.env.CHROMIUM ?? "/usr/bin/chromium" } },
  );
  return JSON.parse(await readFile(output, "utf8")) as Report;
};

/** Some keys and verifications, and waits until analytics has them. */
const fill = async ({ call }: Served): Promise<void> => {
  const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "payments" });
  const keys: string[] = [];
  for (let i = 0; i < KEYS; i++) {
    const credits = i % 10 === 0 ? { credits: { remaining: 20 } } : {};
    keys.push((await call<{ key: string }>("keys.createKey", { apiId, name: `customer ${i}`, ...credits })).key);
  }
  for (let i = 0; i < VERIFICATIONS; i++) {
    await call("keys.verifyKey", { key: keys[i % KEYS], ...(i % 7 === 0 ? { permissions: "invoices.read" } : {}) });
  }
  await sleep(3_000);
};

const place = createPlace(undefined);
const served = await serve({ ...place.env, CONSOLE: "on", ANALYTICS: "embedded" });
const directory = await mkdtemp(join(tmpdir(), "latchkey-lighthouse-"));
const table = [["", "accessibility", "performance", "best practices", ""]];
const lost = new Set<string>();
try {
  await fill(served);
  const { cookie } = await openConsoleSession(served.url, served.rootKey);
  for (const { path, session } of [
    { path: "/ui/sign-in", session: undefined },
    { path: "/ui", session: cookie },
  ]) {
    for (const device of ["desktop", "phone"] as const) {
      const reports: Report[] = [];
      for (let round = 0; round < rounds; round++) reports.push(await visit(served.url, directory, { path, cookie: session, device }));
      const score = (category: string): number => median(reports.map((report) => scoreOf(report, category)));
      const [accessibility, performance] = [score("accessibility"), score("performance")];
      // A phone's performance is told, and has no goal.
      const isMet = accessibility >= ACCESSIBILITY_GOAL && (device === "phone" || performance >= PERFORMANCE_GOAL);
      if (!isMet) process.exitCode = 1;
      table.push([`${path}, ${device}`, `${accessibility}`, `${performance}`, `${score("best-practices")}`, isMet ? "met" : "MISSED"]);
      for (const loss of reports.flatMap(losses)) lost.add(`${path}, ${device}: ${loss}`);
    }
  }
} finally {
  await served.server.stop();
  await place.remove();
  await rm(directory, { recursive: true });
}
console.log(`${LIGHTHOUSE}, Node ${process.version}, median of ${rounds}; a phone's performance has no goal`);
console.log(formatTable(table).join("\n"));
for (const line of lost) console.log(line);
