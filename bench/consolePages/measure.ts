/**
 * `npm run bench:console [-- --count N --rounds N --mongodb URL --no-browser]`: how long the calls take by which the pages of the
 * console list, beside a hundred thousand keys, identities, roles, permissions, root keys, overrides and entries of the audit
 * log, each with a session as the page makes them; then the longest task of the page's main thread in Chromium (`CHROMIUM`, default
 * `/usr/bin/chromium`) while somebody loads more rows and scrolls through them. Fails when a list takes more than 200 ms by the median, or
 * a task more than 100 ms.
 */
import { parseArgs } from "node:util";
import { systemClock } from "../../src/platform/base/clock.ts";
import { formatTable } from "../../src/platform/util/table.ts";
import { type ConsoleSession, openConsoleSession } from "../harness/consoleSession.ts";
import { median } from "../median.ts";
import { createPlace } from "../place.ts";
import type { ServerProcess } from "../processes.ts";
import { serve } from "../targets.ts";
import { measureScrolling } from "./measureScrolling.ts";
import { type ConsolePopulation, populateForConsole } from "./populateForConsole.ts";

const LIST_GOAL = 200;
const TASK_GOAL = 100;
const WARM_UP = 3;

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    rounds: { type: "string", default: "15" },
    mongodb: { type: "string" },
    "no-browser": { type: "boolean", default: false },
  },
});
const count = Math.min(1_000_000, Math.max(1_000, Math.trunc(Number(values.count)) || 100_000));
const rounds = Math.min(1_000, Math.max(1, Math.trunc(Number(values.rounds)) || 15));

/** A list of a page: its call, and where the cursor of its next page goes. */
interface List {
  readonly page: string;
  readonly method: string;
  readonly request: object;
}

const lists = ({ apiId, namespace, key, keyIds }: ConsolePopulation): readonly List[] => {
  const middle = keyIds[Math.floor(keyIds.length / 2)] ?? "";
  const search = { limit: "100", search: "9999" };
  return [
    { page: "/ui/apis/:id, keys", method: "ApisService/ListKeys", request: { apiId, limit: "100" } },
    {
      page: "/ui/apis/:id, keys of an identity",
      method: "ApisService/ListKeys",
      request: { apiId, limit: "100", externalId: "bench_user_7" },
    },
    { page: "/ui/find, by name", method: "KeysService/SearchKeys", request: { query: "key 99", limit: "100" } },
    { page: "/ui/find, by id", method: "KeysService/SearchKeys", request: { query: middle, limit: "100" } },
    { page: "/ui/find, a whole key", method: "KeysService/SearchKeys", request: { query: key, limit: "100" } },
    { page: "/ui/find, its last four", method: "KeysService/SearchKeys", request: { query: "0042", limit: "100" } },
    { page: "/ui/find, nothing", method: "KeysService/SearchKeys", request: { query: "nowhere", limit: "100" } },
    { page: "/ui, keys that expire soon", method: "KeysService/SearchKeys", request: { expiresBefore: "4000000000000", limit: "100" } },
    { page: "/ui/identities", method: "IdentitiesService/ListIdentities", request: { limit: "100" } },
    { page: "/ui/identities, search", method: "IdentitiesService/ListIdentities", request: search },
    { page: "/ui/access, roles", method: "PermissionsService/ListRoles", request: { limit: "100" } },
    { page: "/ui/access, roles, search", method: "PermissionsService/ListRoles", request: search },
    { page: "/ui/access, permissions", method: "PermissionsService/ListPermissions", request: { limit: "100" } },
    { page: "/ui/access, permissions, search", method: "PermissionsService/ListPermissions", request: search },
    { page: "/ui/access, holders", method: "KeysService/SearchKeys", request: { permission: "bench.p1", limit: "100" } },
    { page: "/ui/limits/:namespace", method: "RatelimitService/ListOverrides", request: { namespace, limit: "100" } },
    { page: "/ui/root-keys", method: "RootKeysService/ListKeys", request: { limit: "100" } },
    { page: "/ui/audit", method: "AuditService/GetLogs", request: { limit: "100" } },
    { page: "/ui/audit, one object", method: "AuditService/GetLogs", request: { limit: "100", resourceId: "key_50000" } },
  ];
};

const met = (isMet: boolean): string => {
  if (!isMet) process.exitCode = 1;
  return isMet ? "met" : "MISSED";
};

/** Rows of the table of lists: first pages and, where there is one, the page after. */
const measureLists = async (server: ServerProcess, session: ConsoleSession, all: readonly List[]): Promise<string[][]> => {
  const table: string[][] = [];
  for (const { page, method, request } of all) {
    const [first, next]: [number[], number[]] = [[], []];
    let rows = 0;
    let cpuBefore = 0;
    for (let round = 0; round < WARM_UP + rounds; round++) {
      if (round === WARM_UP) cpuBefore = server.cpuSeconds();
      const ask = async (cursor: object) => {
        const startedAt = systemClock.monotonic();
        const { data = [], pagination } = await session.call<Listed>(method, { ...request, ...cursor });
        return { took: systemClock.monotonic() - startedAt, rows: data.length, cursor: pagination?.cursor };
      };
      const begun = await ask({});
      const gone = begun.cursor === undefined ? undefined : await ask({ cursor: begun.cursor });
      rows = begun.rows;
      if (round < WARM_UP) continue;
      first.push(begun.took);
      if (gone !== undefined) next.push(gone.took);
    }
    const both = [...first, ...next];
    const cpu = (1_000 * (server.cpuSeconds() - cpuBefore)) / both.length;
    const ms = (value: number): string => (Number.isNaN(value) ? "" : value.toFixed(1));
    const isMet = median(first) <= LIST_GOAL && !(median(next) > LIST_GOAL);
    table.push([page, `${rows}`, ms(median(first)), ms(median(next)), ms(Math.max(...both)), ms(cpu), met(isMet)]);
  }
  return table;
};

interface Listed {
  readonly data?: readonly unknown[];
  readonly pagination?: { readonly cursor?: string };
}

const place = createPlace(values.mongodb);
try {
  const population = await place.withStore((store) => populateForConsole(store, count));
  console.error(`inserted ${count.toLocaleString("en")} of each`);
  const { server, url, rootKey } = await serve({ ...place.env, CONSOLE: "on" }, { rootKey: population.rootKey });
  try {
    const session = await openConsoleSession(url, rootKey);
    console.log(`${place.engine} store, Node ${process.version}, ${count.toLocaleString("en")} of each, ms of ${rounds} calls`);
    const head = ["", "rows", "first page", "next page", "at most", "processor", `≤ ${LIST_GOAL} ms`];
    console.log(formatTable([head, ...(await measureLists(server, session, lists(population)))]).join("\n"));
    if (!values["no-browser"]) {
      const scrolled = await measureScrolling(url, session.cookie, population);
      const rows = scrolled.map(({ page, rows, longest, blocked }) => [
        page,
        `${rows}`,
        longest.toFixed(0),
        blocked.toFixed(0),
        met(longest <= TASK_GOAL),
      ]);
      console.log(
        `\n${formatTable([["scrolled", "rows", "longest task, ms", "in long tasks, ms", `≤ ${TASK_GOAL} ms`], ...rows]).join("\n")}`,
      );
    }
  } finally {
    await server.stop();
  }
} finally {
  await place.remove();
}
