import { createAuditLogRepository } from "../../features/audit/auditLogRepository.ts";
import { readAudit } from "../../features/audit/readAudit.ts";
import { readChanges } from "../../features/audit/readChanges.ts";
import { verifyAudit } from "../../features/audit/verifyAudit.ts";
import { readArguments } from "../arguments.ts";
import { droppedLine, erasedLine, missingAnchor, uncoveredLine } from "../auditTexts.ts";
import { type Command, type ExitCode, UsageError } from "../command.ts";
import { withStore } from "../configuredStore.ts";
import { createProgressBar } from "../progressBar.ts";
import { readConfig } from "../readConfig.ts";
import { exportByService, verifyByService } from "../remote/auditByService.ts";
import { namedService } from "../remote/callService.ts";
import { connectionOptions } from "../remote/connection.ts";

const readHead = (text: string | undefined): string | undefined => {
  if (text === undefined || /^[0-9a-f]{64}$/.test(text)) return text;
  throw new UsageError(`--head: ${JSON.stringify(text)} is not a head that this command printed, 64 hexadecimal digits`);
};

const verify: Command = {
  name: "audit verify",
  usage: "[--head HASH] [--url URL]",
  summary:
    "Check the chain of the audit log; names every altered or missing entry and exits with 1 if there is one. --head: a head that was printed before and kept elsewhere shows when the end was cut off.",
  run: async (args, context) => {
    const { values } = readArguments(args, { ...connectionOptions, head: { type: "string" } });
    const anchor = readHead(values.head);
    const service = await namedService(values, context);
    if (service !== undefined) return verifyByService(service, anchor, context);
    return withStore({ ...readConfig(context.env), limitsFor: "data" }, context.clock, async (store): Promise<ExitCode> => {
      const auditLog = createAuditLogRepository(store);
      const bar = createProgressBar(context, (await auditLog.head())?.sequence ?? 0);
      const { entries, head, anchored, faults, erased, uncovered, pending, dropped } = await verifyAudit(auditLog, {
        anchor,
        onEntry: bar.reach,
      }).finally(bar.end);
      for (const { sequence, eventId, problem } of faults) await context.complain(`entry ${sequence} (${eventId}) ${problem}`);
      if (anchor !== undefined && anchored === false) await context.complain(missingAnchor(anchor, dropped !== undefined));
      const count = faults.length + (anchored === false ? 1 : 0);
      await context.print(`${entries} entries, ${pending} pending, head ${head}`);
      if (dropped !== undefined) {
        await context.print(droppedLine({ ...dropped, time: new Date(dropped.droppedAt).toISOString() }));
      }
      if (erased.entries > 0) await context.print(erasedLine(erased));
      if (uncovered !== undefined) await context.print(uncoveredLine(uncovered));
      await context.print(count === 0 ? "The log is whole." : `The log is NOT whole: ${count} faults.`);
      return count === 0 ? 0 : 1;
    });
  },
};

const readSince = (text: string | undefined): number => {
  if (text === undefined) return 0;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`--since: ${JSON.stringify(text)} is not a date such as 2026-01-31 or 2026-01-31T12:00:00Z`);
  return time;
};

const exportEvents: Command = {
  name: "audit export",
  usage: "[--since DATE] [--url URL]",
  summary: "Print the events of the audit log, one JSON object per line; with --url, in the form of audit.getLogs.",
  run: async (args, context) => {
    const { values } = readArguments(args, { ...connectionOptions, since: { type: "string" } });
    const since = readSince(values.since);
    const service = await namedService(values, context);
    if (service !== undefined) return exportByService(service, since, context);
    return withStore({ ...readConfig(context.env), limitsFor: "data" }, context.clock, async (store): Promise<ExitCode> => {
      const auditLog = createAuditLogRepository(store);
      // Lines and a bar at one terminal would be in each other's way.
      const bar = createProgressBar(context.printsToTerminal ? {} : context, (await auditLog.head())?.sequence ?? 0);
      try {
        const dropped = await auditLog.stub();
        for await (const entry of readAudit(auditLog, dropped?.sequence)) {
          const { sequence, hash, event, format } = entry;
          // Undefined members are left out.
          const shown = { sequence, ...event, changes: readChanges(entry), format, hash };
          if (event.time >= since) await context.print(JSON.stringify(shown));
          bar.reach(sequence);
        }
      } finally {
        bar.end();
      }
      return 0;
    });
  },
};

/** Reading the audit log (protocol §11). */
export const auditCommands: readonly Command[] = [verify, exportEvents];
