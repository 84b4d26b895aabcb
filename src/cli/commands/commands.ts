import type { Command } from "../command.ts";
import { analyticsCommands } from "./analyticsCommands.ts";
import { apiCommands } from "./apiCommands.ts";
import { auditCommands } from "./auditCommands.ts";
import { backupCommands } from "./backupCommands.ts";
import { doctor } from "./doctor.ts";
import { identityCommands } from "./identityCommands.ts";
import { migrate } from "./migrate.ts";
import { migrationCommands } from "./migrationCommands.ts";
import { namespaceCommands } from "./namespaceCommands.ts";
import { repair } from "./repair.ts";
import { rootKeyCommands } from "./rootKeyCommands.ts";
import { serve } from "./serve.ts";
import { transferCommands } from "./transferCommands.ts";

/** Completion knows the procedures, which takes a moment to read: it is loaded when it is used. */
const completion: Command = {
  name: "completion",
  usage: "bash|zsh",
  summary: "Print a script that completes commands, procedures and options: source <(latchkey completion bash).",
  run: async (args, context) => (await import("../remote/completion.ts")).complete(args, context, commands),
};
/** The commands that are no procedures, in the order of help. */
export const commands: readonly Command[] = [
  serve,
  ...rootKeyCommands,
  ...apiCommands,
  ...migrationCommands,
  ...namespaceCommands,
  ...identityCommands,
  ...auditCommands,
  ...analyticsCommands,
  ...transferCommands,
  ...backupCommands,
  migrate,
  doctor,
  repair,
  completion,
];
