import { type Config, loadConfig } from "../platform/config/loadConfig.ts";
import { readSecretFiles } from "../platform/config/secretFiles.ts";
import { UsageError } from "./command.ts";

/** The configuration, or a `UsageError` that lists everything that is wrong with it. */
export const readConfig = (env: Readonly<Record<string, string | undefined>>): Config => {
  const secrets = readSecretFiles(env);
  const result = loadConfig(secrets.env);
  if ("ok" in result && secrets.problems.length === 0) return result.ok;
  const problems = [...secrets.problems, ...("ok" in result ? [] : result.problems)];
  throw new UsageError(["the configuration is wrong:", ...problems.map((problem) => `  ${problem}`)].join("\n"));
};
