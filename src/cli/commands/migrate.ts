import { migrateServer } from "../../features/analytics/connection.ts";
import { lookAtStore } from "../../operations/lookAtStore.ts";
import { dueBackfill, type Writers } from "../../operations/sweep/backfill.ts";
import { createBackfillsRepository, SEARCHABLE_SINCE } from "../../operations/sweep/backfillsRepository.ts";
import { finishBackfill } from "../../operations/sweep/finishBackfill.ts";
import { type Config, withoutCredentials } from "../../platform/config/loadConfig.ts";
import { openStore } from "../../platform/storage/openStore.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { PendingChange } from "../../platform/storage/port/pendingChange.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import type { StoreLook } from "../../platform/storage/port/storeLook.ts";
import { createLeasesRepository } from "../../platform/storage/repositories/leasesRepository.ts";
import { counted } from "../../platform/util/counted.ts";
import { readArguments } from "../arguments.ts";
import type { Command, CommandContext } from "../command.ts";
import { describeStore, requireStore } from "../configuredStore.ts";
import { createProgressBar } from "../progressBar.ts";
import { readConfig } from "../readConfig.ts";

/** What is due in the store. */
interface Due {
  readonly lines: readonly string[];
  readonly writers: Writers;
  /** Documents that the walk for searched texts looks at. */
  readonly searched: number;
}

const words: Readonly<Record<PendingChange["kind"], string>> = {
  "add column": "add to the table of",
  "build index": "build indexes of",
  "drop index": "drop indexes, which others took the place of, of",
};

/** One line for each kind of change of a collection. */
const changeLines = async ({ changes, count }: StoreLook): Promise<string[]> => {
  const lines: string[] = [];
  for (const [, same] of Map.groupBy(changes, ({ kind, collection }) => `${kind} ${collection}`)) {
    const [first] = same;
    if (first === undefined) continue;
    const names = same.map(({ name }) => name).join(", ");
    lines.push(`${words[first.kind]} ${counted(await count(first.collection), "document")} in ${first.collection}: ${names}`);
  }
  return lines;
};

const findDue = async (look: StoreLook, config: Config, now: number): Promise<Due> => {
  const { schema, nodes, count } = look;
  const writers = {
    isShared: config.mongodbUrl !== undefined,
    allAreCurrent: nodes.every(({ v }) => v >= SEARCHABLE_SINCE),
  };
  const raise = schema?.schema === SCHEMA_VERSION ? [] : [`schema: from ${schema?.schema ?? "none"} to ${SCHEMA_VERSION}`];
  const due = dueBackfill(schema, writers, now);
  const searched = (await count("keys")) + (await count("identities"));
  const begun = typeof due === "string" || due.lookedAt === 0 ? "" : `, ${due.lookedAt.toLocaleString("en")} of which are done`;
  const walk =
    typeof due === "string"
      ? []
      : [`make searchable by name and externalId: ${counted(searched, "key and identity", "keys and identities")}${begun}`];
  return { lines: [...raise, ...(await changeLines(look)), ...walk], writers, searched };
};

const finish = async (store: Store, { writers, searched }: Due, context: CommandContext): Promise<boolean> => {
  const bar = createProgressBar(context, searched);
  const options = {
    ...writers,
    clock: store.clock,
    leases: createLeasesRepository(store),
    backfills: createBackfillsRepository(store),
    onProgress: ({ lookedAt }: { readonly lookedAt: number }) => bar.reach(lookedAt),
  };
  const wait = (): void => context.showProgress?.("another process is making keys searchable: waiting for it …");
  const { isOver } = await finishBackfill(options, wait).finally(bar.end);
  return isOver;
};

const migrateStore = async (config: Config, due: Due, context: CommandContext): Promise<void> => {
  const store = await openStore({ ...config, clock: context.clock, mode: "tool", limitsFor: "data", migrates: true });
  try {
    context.showProgress?.("bringing schema and indexes up to date …");
    await store.prepare().finally(() => context.showProgress?.(""));
    if (!(await finish(store, due, context))) {
      await context.complain(
        "nodes of an older version are running: run it once more when they are replaced, else nodes look through keys and identities again a day later",
      );
    }
  } finally {
    await store.close();
  }
};

/** What is, or was, due in the tables of a ClickHouse server. Those of the embedded engine are the service's, which makes them when it starts. */
const migrateAnalytics = async ({ analytics }: Config, isDry: boolean): Promise<string[]> => {
  if (analytics?.clickhouseUrl === undefined) return [];
  const { clickhouseUrl: url, cluster } = analytics;
  const due = await migrateServer(url, { cluster, workspaceId: WORKSPACE_ID, expire: true }, isDry);
  return due === undefined ? [] : [`tables of ClickHouse at ${withoutCredentials(url)}: from version ${due.from} to ${due.to}`];
};

/** What a start does by itself and nodes go on with in the background, at once and to its end: for those who upgrade a cluster step by step. */
export const migrate: Command = {
  name: "migrate",
  usage: "[--dry-run]",
  summary:
    "Bring the store, and the tables of a ClickHouse server, up to date with this version, beside running services as well. --dry-run says what there is to do, and changes nothing. Repeat it if it was interrupted.",
  run: async (args, context) => {
    const { values } = readArguments(args, { "dry-run": { type: "boolean" } });
    const isDry = values["dry-run"] === true;
    const config = readConfig(context.env);
    requireStore(config);
    const due = await lookAtStore({ ...config, clock: context.clock, limitsFor: "data" }, (look) =>
      findDue(look, config, context.clock.now()),
    );
    for (const line of due.lines) await context.print(line);
    if (!isDry) await migrateStore(config, due, context);
    const tables = await migrateAnalytics(config, isDry);
    for (const line of tables) await context.print(line);
    const nothing = due.lines.length + tables.length === 0;
    const end = nothing ? "nothing to do" : isDry ? "this was a dry run: nothing was changed" : "done";
    await context.print(`${describeStore(config)}: ${end}`);
    return 0;
  },
};
