import { type Config, loadConfig } from "../config/loadConfig.ts";
import { UsageError } from "./command.ts";

/** The configuration, or a `UsageError` that lists everything that is wrong with it. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): Config => {
  const result = loadConfig(env);
  if ("ok" in result) return result.ok;
  throw new UsageError(["the configuration is wrong:", ...result.problems.map((problem) => `  ${problem}`)].join("\n"));
};
