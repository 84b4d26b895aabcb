import { pino } from "pino";
import { loadConfig } from "../../src/config.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { createService } from "../../src/service.ts";
import { openStore } from "../../src/storage/openStore.ts";
import { interceptStore } from "../support/interceptStore.ts";

/** A node that never hears of a change by the feed: whatever it asks the feed's collection, it finds nothing there. */
const config = loadConfig(process.env);
if ("problems" in config) throw new Error(config.problems.join("; "));
const store = interceptStore(
  await openStore({ ...config.ok, clock: systemClock, mode: "server" }),
  async (operation, { collection, name }) => {
    const answer = await operation();
    return collection === "changes" && name === "find" ? ([] as unknown as typeof answer) : answer;
  },
);
const service = await createService(config.ok, { store, log: pino({ level: "warn" }, process.stderr), linger: 0 });
const { url } = await service.start();
process.stdout.write(`${url}\n`);
process.on("SIGTERM", () => void service.stop());
