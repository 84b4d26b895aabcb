import { resolve } from "node:path";
import { repairStore } from "../../storage/embedded/damage/repairStore.ts";
import { readArguments } from "../arguments.ts";
import { type Command, UsageError } from "../command.ts";
import { readConfig } from "../readConfig.ts";

/** Goes on without what is lost. Nothing is deleted. */
export const repair: Command = {
  name: "repair",
  usage: "",
  summary: "Repair a damaged embedded store: reports what is lost and keeps the files it replaces. Stop the service first.",
  run: async (args, context) => {
    readArguments(args, {});
    const { mongodbUrl, dataDir } = readConfig(context.env);
    if (mongodbUrl !== undefined) throw new UsageError("repair is only for the embedded store: unset MONGODB_URL");
    const lines = repairStore(resolve(dataDir), context.clock);
    if (lines.length === 0) await context.print(`Nothing is damaged in ${resolve(dataDir)}.`);
    for (const line of lines) await context.print(line);
    return 0;
  },
};
