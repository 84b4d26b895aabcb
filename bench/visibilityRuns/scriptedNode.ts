import { pino } from "pino";
import { systemClock } from "../../src/platform/base/clock.ts";
import { loadConfig } from "../../src/platform/config/loadConfig.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import { createService } from "../../src/service/createService.ts";
import { type Intercept, interceptStore } from "../harness/interceptStore.ts";

/** Nodes that lack something that protects from what they miss: what the tools have to find. */
const lacking: Readonly<Record<string, Intercept>> = {
  /** Never hears of a change: whatever it asks the feed's collection, it finds nothing there. */
  ears: async (operation, { collection, name }) => {
    const answer = await operation();
    return collection === "changes" && name === "find" ? ([] as unknown as typeof answer) : answer;
  },
  /** Tells of a change from memory, once it is acknowledged, and takes no silence of the feed for one. */
  guard: async (operation, { collection, name }) => {
    if (collection !== "changes") return operation();
    if (name === "find") return operation().catch(() => [] as unknown as Awaited<ReturnType<typeof operation>>);
    setTimeout(() => operation().catch(() => undefined), TOLD_AFTER_MS);
    return undefined as Awaited<ReturnType<typeof operation>>;
  },
};
const TOLD_AFTER_MS = 50;

const intercept = lacking[process.argv[2] ?? ""];
if (intercept === undefined) throw new Error(`name what the node lacks: ${Object.keys(lacking).join(", ")}`);
const config = loadConfig(process.env);
if ("problems" in config) throw new Error(config.problems.join("; "));
const store = interceptStore(await openStore({ ...config.ok, clock: systemClock, mode: "server" }), intercept);
const service = await createService(config.ok, { store, log: pino({ level: "fatal" }, process.stderr), linger: 0 });
const { url } = await service.start();
process.stdout.write(`${url}\n`);
process.on("SIGTERM", () => void service.stop());
