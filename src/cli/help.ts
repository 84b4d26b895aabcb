import { configVariables } from "../platform/config/loadConfig.ts";
import { version } from "../platform/config/version.ts";
import { formatTable } from "../platform/util/table.ts";
import { type Command, exitCodes } from "./command.ts";

/** A command as help shows it. */
export const commandLines = ({ name, usage, summary }: Command): string[] => [`  latchkey ${name} ${usage}`.trimEnd(), `      ${summary}`];

/** The text of `latchkey help`. @param procedures lines about the commands that call procedures. @param options those of every call. */
export const helpText = (commands: readonly Command[], procedures: readonly string[], options: readonly string[]): string => {
  const variableLines = formatTable(
    configVariables.map(({ name, byDefault, description }) => [`  ${name}`, byDefault ?? "(unset)", description.replaceAll("`", "")]),
  );
  return [
    `Latchkey ${version}: API keys, verification, credits and rate limits`,
    "",
    "Commands",
    ...commands.flatMap(commandLines),
    "",
    "TIME is a duration from now (90m, 12h, 30d, 4w) or an ISO date or time (2030-12-31, 2030-12-31T12:00:00Z).",
    "PERMISSION is <type>.<id or *>.<action>, such as api.*.verify_key.",
    "",
    "Procedures of a running service (for details: latchkey help keys, latchkey help keys create-key)",
    ...procedures,
    "",
    "Options for a running service; commands that take --url work on the store when neither it nor LATCHKEY_URL is set",
    ...options,
    "  Root keys and secrets of keys are never arguments. For certificates of your own authority, set NODE_EXTRA_CA_CERTS.",
    "",
    "Exit codes",
    ...Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`),
    "",
    "Settings (environment variables)",
    ...variableLines,
  ].join("\n");
};
