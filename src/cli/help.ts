import { configVariables } from "../config.ts";
import { version } from "../version.ts";
import type { Command } from "./command.ts";
import { formatTable } from "./table.ts";

/** The text of `latchkey help`. */
export const helpText = (commands: readonly Command[]): string => {
  const commandLines = commands.flatMap(({ name, usage, summary }) => [`  latchkey ${name} ${usage}`.trimEnd(), `      ${summary}`]);
  const variableLines = formatTable(
    configVariables.map(({ name, byDefault, description }) => [`  ${name}`, byDefault ?? "(unset)", description.replaceAll("`", "")]),
  );
  return [
    `Latchkey ${version}: API keys, verification, credits and rate limits`,
    "",
    "Commands",
    ...commandLines,
    "",
    "TIME is a duration from now (90m, 12h, 30d, 4w) or an ISO date or time (2030-12-31, 2030-12-31T12:00:00Z).",
    "PERMISSION is <type>.<id or *>.<action>, such as api.*.verify_key.",
    "",
    "Settings (environment variables)",
    ...variableLines,
  ].join("\n");
};
