import { type Config, loadConfig } from "../config.ts";
import { type CommandContext, UsageError } from "./command.ts";

/** The configuration, or a `UsageError` that lists everything that is wrong with it. */
export const readConfig = ({ env }: Pick<CommandContext, "env">): Config => {
  const result = loadConfig(env);
  if ("ok" in result) return result.ok;
  throw new UsageError(["the configuration is wrong:", ...result.problems.map((problem) => `  ${problem}`)].join("\n"));
};
