import { join, resolve } from "node:path";
import { type Connection, connectEmbedded, connectServer } from "../../features/analytics/connection.ts";
import { engineMissing, isEngineInstalled } from "../../features/analytics/embedded/isEngineInstalled.ts";
import { EngineUnavailableError } from "../../features/analytics/engineErrors.ts";
import { latestOf } from "../../features/analytics/tables/migrateTables.ts";
import { exportEvents, findBegun } from "../../features/analytics/transfer/exportEvents.ts";
import { checkExport, importEvents } from "../../features/analytics/transfer/importEvents.ts";
import { TransferRefusedError } from "../../features/analytics/transfer/manifest.ts";
import { embeddedFiles, serverFiles } from "../../features/analytics/transfer/tableFiles.ts";
import { lookAtStore } from "../../operations/lookAtStore.ts";
import type { AnalyticsConfig } from "../../platform/config/analyticsVariables.ts";
import { type Config, withoutCredentials } from "../../platform/config/loadConfig.ts";
import { version } from "../../platform/config/version.ts";
import { isServerLockTaken } from "../../platform/storage/embedded/serverLock.ts";
import { filesIn } from "../../platform/storage/embedded/storeFiles.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import { counted } from "../../platform/util/counted.ts";
import { readArguments } from "../arguments.ts";
import { type Command, type CommandContext, CommandFailure } from "../command.ts";
import { createProgressBar } from "../progressBar.ts";
import { readConfig } from "../readConfig.ts";
import { refusing } from "../refusing.ts";

/** Of tables as services make them. */
const schemaOf = ({ cluster }: AnalyticsConfig) => ({ cluster, workspaceId: WORKSPACE_ID, expire: true });

const requireAnalytics = ({ analytics }: Config): AnalyticsConfig => {
  if (!analytics) throw new CommandFailure(5, "there are no analytics: set ANALYTICS=embedded or CLICKHOUSE_URL, as for the service");
  if (analytics.clickhouseUrl === undefined && !isEngineInstalled()) {
    throw new CommandFailure(5, `${engineMissing}, or set CLICKHOUSE_URL`);
  }
  return analytics;
};

const describe = ({ clickhouseUrl }: AnalyticsConfig, { dataDir }: Config): string =>
  clickhouseUrl === undefined
    ? `embedded engine in ${resolve(join(dataDir, "analytics"))}`
    : `ClickHouse at ${withoutCredentials(clickhouseUrl)}`;

/** How many services write events as this configuration says. */
const countWriters = async (config: Config, { clock }: CommandContext): Promise<number> => {
  if (config.mongodbUrl === undefined) return isServerLockTaken(filesIn(config.dataDir).lock) ? 1 : 0;
  return lookAtStore({ ...config, clock }, async ({ nodes }) => nodes.filter(({ analytics }) => analytics.kind !== "none").length);
};

/** Opens the configured analytics for the time of `use`; the embedded ones are nobody else's meanwhile. */
const withAnalytics = async <T>(config: Config, use: (connection: Connection) => Promise<T>): Promise<T> => {
  const analytics = requireAnalytics(config);
  const schema = schemaOf(analytics);
  let death: string | undefined;
  const onDeath = (reason: string): void => {
    death ??= reason;
  };
  const connection =
    analytics.clickhouseUrl === undefined
      ? connectEmbedded({ directory: resolve(join(config.dataDir, "analytics")), memory: analytics.memory, schema, onDeath })
      : connectServer({ url: analytics.clickhouseUrl, schema });
  try {
    await connection.ready();
    return await use(connection);
  } catch (error) {
    if (!(error instanceof EngineUnavailableError)) throw error;
    throw new CommandFailure(7, death === undefined ? error.message : `the analytics engine ended: ${death}`, { cause: error });
  } finally {
    await connection.close();
  }
};

const filesOf = ({ clickhouseUrl }: AnalyticsConfig, { clickhouse }: Connection) =>
  clickhouseUrl === undefined ? embeddedFiles(clickhouse) : serverFiles(clickhouse);

/** Version of the tables that this program makes. */
const tablesOf = (analytics: AnalyticsConfig): number => latestOf({ ...schemaOf(analytics), database: "" });

const exportCommand: Command = {
  name: "analytics export",
  usage: "DIR",
  summary:
    "Write all events and their sums to Parquet files in a new directory, by table and day. Stop the service of an embedded engine first; with a ClickHouse server, what nodes write meanwhile may be in it or not. Repeat it if it was interrupted.",
  run: async (args, context) => {
    const [directory = ""] = readArguments(args, {}, "DIR").positionals;
    const config = readConfig(context.env);
    const analytics = requireAnalytics(config);
    const writers = await countWriters(config, context);
    if (writers > 0 && analytics.clickhouseUrl === undefined) {
      throw new CommandFailure(5, `the service that uses ${resolve(config.dataDir)} has the embedded engine: stop it first`);
    }
    if (writers > 0) {
      await context.complain(
        `${counted(writers, "service")} ${writers === 1 ? "writes" : "write"} events: those of this time may be in the export by half; stop them for an exact one`,
      );
    }
    const place = {
      directory: resolve(directory),
      header: {
        product: version,
        tables: tablesOf(analytics),
        takenAt: context.clock.now(),
        source: describe(analytics, config),
      },
    };
    const begun = await refusing(findBegun(place), TransferRefusedError);
    if (begun !== undefined) {
      await context.complain(
        `${directory}: going on with the export of ${new Date(begun.takenAt).toISOString()}; of events since then some may be missing: export them to another directory`,
      );
    }
    const bar = createProgressBar(context);
    const manifest = await withAnalytics(config, (connection) =>
      refusing(
        exportEvents({ ...connection, ...place, files: filesOf(analytics, connection), onProgress: bar.reach }),
        TransferRefusedError,
      ),
    ).finally(bar.end);
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    await context.print(`${directory}: ${counted(manifest.files.length, "file")}, ${counted(bytes, "byte")}, of the ${manifest.source}`);
    return 0;
  },
};

const importCommand: Command = {
  name: "analytics import",
  usage: "DIR",
  summary:
    "Put the events of an export into the configured analytics, which hold none of the same months. Stop the services that write events there first, or import before they start. Repeat it if it was interrupted: nothing is there twice.",
  run: async (args, context) => {
    const [directory = ""] = readArguments(args, {}, "DIR").positionals;
    const config = readConfig(context.env);
    const analytics = requireAnalytics(config);
    if (analytics.cluster !== undefined) {
      throw new CommandFailure(
        5,
        "CLICKHOUSE_CLUSTER: events are imported into a single server; into a cluster, restore a backup of ClickHouse",
      );
    }
    const writers = await countWriters(config, context);
    if (writers > 0) throw new CommandFailure(5, `${counted(writers, "service")} may write events there: stop what is running first`);
    const place = {
      directory: resolve(directory),
      checked: await refusing(checkExport(resolve(directory), tablesOf(analytics)), TransferRefusedError),
    };
    const bar = createProgressBar(context);
    const events = await withAnalytics(config, (connection) =>
      refusing(
        importEvents({ ...connection, ...place, files: filesOf(analytics, connection), onProgress: bar.reach }),
        TransferRefusedError,
      ),
    ).finally(bar.end);
    const { files, takenAt } = place.checked.manifest;
    await context.print(
      `${describe(analytics, config)}: ${counted(events, "event")} and the sums of ${counted(files.length, "file")}, taken ${new Date(takenAt).toISOString()}`,
    );
    return 0;
  },
};

/** Events as files, and from one engine to the other. */
export const transferCommands: readonly Command[] = [exportCommand, importCommand];
