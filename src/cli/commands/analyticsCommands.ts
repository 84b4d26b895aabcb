import { jsonLine } from "../../platform/util/table.ts";
import { readArguments } from "../arguments.ts";
import { type Command, CommandFailure } from "../command.ts";
import { openService } from "../remote/callService.ts";
import { connectionOptions } from "../remote/connection.ts";
import { presentRows } from "../remote/present.ts";

/** The tables decide the procedure: none can be read by both. */
const procedureFor = (sql: string): string => (/\bratelimits_/i.test(sql) ? "analytics.getRatelimits" : "analytics.getVerifications");

const sql: Command = {
  name: "analytics sql",
  usage: "QUERY [--json] [--url URL]",
  summary: "Run an analytics query in SQL on the running service; prints a table, or with --json one object per row.",
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { ...connectionOptions, json: { type: "boolean" } }, "QUERY");
    const [query = ""] = positionals;
    const service = await openService(values, context);
    const { data: rows } = await service(procedureFor(query), { query });
    if (!Array.isArray(rows)) throw new CommandFailure(1, "the service answered without rows");
    const lines = values.json ? rows.map((row) => jsonLine(row)) : presentRows(rows, [], true);
    for (const line of lines) await context.print(line);
    await context.complain(`${rows.length} ${rows.length === 1 ? "row" : "rows"}`);
    return 0;
  },
};

/** Analytics for an operator at a terminal. */
export const analyticsCommands: readonly Command[] = [sql];
