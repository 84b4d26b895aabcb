import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { askVersion } from "../../features/analytics/connection.ts";
import { engineMissing, isEngineInstalled, requiredEngineMissing } from "../../features/analytics/embedded/isEngineInstalled.ts";
import { createRootKeysRepository } from "../../features/rootKeys/rootKeysRepository.ts";
import { type Config, withoutCredentials } from "../../platform/config/loadConfig.ts";
import type { TlsFiles } from "../../platform/config/tlsVariables.ts";
import { version } from "../../platform/config/version.ts";
import { readTlsMaterial } from "../../platform/http/tls/tlsMaterial.ts";
import { hashKey } from "../../platform/secrets/keySecret.ts";
import { findDamage } from "../../platform/storage/embedded/damage/findDamage.ts";
import { isServerLockTaken } from "../../platform/storage/embedded/serverLock.ts";
import { filesIn } from "../../platform/storage/embedded/storeFiles.ts";
import { readArguments } from "../arguments.ts";
import type { Command, CommandContext } from "../command.ts";
import { describeStore, storeExists, withStore } from "../configuredStore.ts";
import { readConfig } from "../readConfig.ts";

/** One thing to look at; resolves to what it saw, rejects with what is wrong. */
type Check = readonly [subject: string, look: () => Promise<string>];

/** Reads the whole state file of the embedded store before it is opened. */
const checkFiles = async ({ mongodbUrl, dataDir }: Config): Promise<void> => {
  if (mongodbUrl !== undefined) return;
  const files = filesIn(resolve(dataDir));
  const damage = findDamage(files, isServerLockTaken(files.lock));
  if (damage !== undefined) throw new Error(`${damage}: stop the service and run "latchkey repair" to restore a backup`);
};

const checkStore = async (config: Config, { clock }: CommandContext): Promise<string> => {
  if (!storeExists(config)) return `none in ${resolve(config.dataDir)} yet; the first start makes it`;
  await checkFiles(config);
  return withStore(config, clock, async (store) => {
    const now = store.clock.now();
    const all = await createRootKeysRepository(store).list();
    const usable = all.filter(({ enabled, expires }) => enabled && (expires === undefined || expires >= now));
    const counts = `${describeStore(config)} answers; ${usable.length} of ${all.length} root keys can be used`;
    const file = resolve(join(config.dataDir, "root-key"));
    const inFile = config.mongodbUrl === undefined ? await readFile(file, "utf8").catch(() => undefined) : undefined;
    const isKnown = inFile === undefined || all.some(({ hash }) => hash === hashKey(inFile.trim()));
    return isKnown ? counts : `${counts}; the one in ${file} is none of them`;
  });
};

/** Asks a counter server what it is. */
const checkCounters = async (counters: NonNullable<Config["counters"]>): Promise<string> => {
  const { openCounterServer } = await import("../../platform/storage/valkey/openCounterServer.ts");
  const server = openCounterServer(counters);
  try {
    await server.prepare();
    await server.ping();
    const { server: where, product, version: found, warning } = server.facts() ?? {};
    return `${product} ${found} at ${where} answers${warning === undefined ? "" : `, but ${warning}`}`;
  } finally {
    await server.close();
  }
};

const checkAnalytics = async ({ analytics, dataDir }: Config): Promise<string> => {
  if (!analytics) return "none; its procedures answer 412";
  if (analytics.clickhouseUrl !== undefined) {
    const where = `ClickHouse at ${withoutCredentials(analytics.clickhouseUrl)}`;
    return `${where} answers, version ${await askVersion(analytics.clickhouseUrl)}`;
  }
  if (!isEngineInstalled()) {
    if (analytics.requiresEngine) throw new Error(requiredEngineMissing);
    return `none, and its procedures answer 412: ${engineMissing}`;
  }
  return `embedded engine, events in ${resolve(join(dataDir, "analytics"))}`;
};

const checkTls = async (files: TlsFiles, { clock }: CommandContext): Promise<string> => {
  const { cert, clientCa } = await readTlsMaterial(files);
  const { validToDate, subjectAltName } = new X509Certificate(cert);
  if (validToDate.getTime() <= clock.now()) throw new Error(`the certificate in ${files.certFile} expired on ${validToDate.toISOString()}`);
  const clients = clientCa === undefined ? "" : "; clients need a certificate";
  return `${subjectAltName ?? "a certificate without a name"}, until ${validToDate.toISOString()}${clients}`;
};

const shown = (config: Config): string => {
  const { host, port, admin, logLevel } = config;
  return `right; serves ${host}:${port}, admin ${admin.host}:${admin.port}, logs from ${logLevel} on`;
};

/** Says what a start would find. Changes nothing but what opening a store that is there brings up to date. */
export const doctor: Command = {
  name: "doctor",
  usage: "",
  summary: "Check the configuration, the store, the counter server, analytics and the certificate, and report what was found.",
  run: async (args, context) => {
    readArguments(args, {});
    const config = readConfig(context.env);
    const ports = [["TLS", config.tls] as const, ["TLS of the admin port", config.admin.tls] as const];
    const checks: Check[] = [
      ["version", async () => `${version} on Node ${context.nodeVersion}`],
      ["configuration", async () => shown(config)],
      ["store", () => checkStore(config, context)],
      ...(config.counters ? [["counter server", () => checkCounters(config.counters as NonNullable<Config["counters"]>)] as const] : []),
      ["analytics", () => checkAnalytics(config)],
      ...ports.flatMap(([subject, tls]) => (tls ? [[subject, () => checkTls(tls, context)] as const] : [])),
    ];
    let healthy = true;
    for (const [subject, look] of checks) {
      try {
        await context.print(`ok    ${subject}: ${await look()}`);
      } catch (error) {
        healthy = false;
        await context.print(`FAIL  ${subject}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return healthy ? 0 : 1;
  },
};
