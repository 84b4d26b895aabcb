import type { Command } from "./command.ts";
import { analyticsCommands } from "./commands/analyticsCommands.ts";
import { apiCommands } from "./commands/apiCommands.ts";
import { auditCommands } from "./commands/auditCommands.ts";
import { backupCommands } from "./commands/backupCommands.ts";
import { doctor } from "./commands/doctor.ts";
import { identityCommands } from "./commands/identityCommands.ts";
import { migrate } from "./commands/migrate.ts";
import { migrationCommands } from "./commands/migrationCommands.ts";
import { namespaceCommands } from "./commands/namespaceCommands.ts";
import { repair } from "./commands/repair.ts";
import { rootKeyCommands } from "./commands/rootKeyCommands.ts";
import { serve } from "./commands/serve.ts";
import { transferCommands } from "./commands/transferCommands.ts";
import { complete } from "./remote/completion.ts";

const completion: Command = {
  name: "completion",
  usage: "bash|zsh",
  summary: "Print a script that completes commands, procedures and options: source <(latchkey completion bash).",
  run: async (args, context) => complete(args, context, ownCommands),
};

/** The commands that are no procedures, in the order of help. */
export const ownCommands: readonly Command[] = [
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
