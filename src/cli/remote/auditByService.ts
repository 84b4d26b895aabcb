import { GENESIS } from "../../features/audit/chainHash.ts";
import { jsonLine } from "../../platform/util/table.ts";
import { droppedLine, erasedLine, missingAnchor } from "../auditTexts.ts";
import type { CommandContext, ExitCode } from "../command.ts";
import { createProgressBar } from "../progressBar.ts";
import type { CallService } from "./callService.ts";
import { pagesOf } from "./pages.ts";

/** What `audit.verifyChain` answers. */
interface Checked {
  readonly checked: number;
  readonly toSequence: number;
  readonly head: { readonly sequence: number; readonly hash: string };
  /** What is left of entries that were dropped. */
  readonly dropped?: { readonly sequence: number; readonly hash: string; readonly time: string };
  /** Of the checked entries. */
  readonly erased?: { readonly entries: number; readonly unhashed: number };
  readonly broken?: { readonly sequence: number; readonly expected: string; readonly found: string };
}

/** Entries that one call checks. */
const PER_CALL = 10_000;
/** Events of a page: the most that there may be. */
const PER_PAGE = 500;

/** Whether some entry has this hash. */
const hasEntry = async (service: CallService, hash: string): Promise<boolean> => {
  for await (const { rows } of pagesOf(service, "audit.getLogs", { limit: PER_PAGE }, { most: Number.POSITIVE_INFINITY })) {
    if (rows.some((row) => (row as { readonly meta?: { readonly hash?: string } }).meta?.hash === hash)) return true;
  }
  return false;
};

/** `audit verify` by `audit.verifyChain`, a part at a time. @param anchor a head that was printed before. */
export const verifyByService = async (service: CallService, anchor: string | undefined, context: CommandContext): Promise<ExitCode> => {
  const bar = createProgressBar(context);
  let entries = 0;
  let faults = 0;
  const erased = { entries: 0, unhashed: 0 };
  let last: Checked | undefined;
  let dropped: Checked["dropped"];
  try {
    do {
      const isFirst = last === undefined;
      const from = last && { fromSequence: last.toSequence + 1 };
      last = (await service("audit.verifyChain", { limit: PER_CALL, ...from })).data as Checked;
      // Retention may go on between two calls: what counts is where the first began.
      if (isFirst) dropped = last.dropped;
      bar.reach(last.toSequence, last.head.sequence);
      entries += last.checked;
      erased.entries += last.erased?.entries ?? 0;
      erased.unhashed += last.erased?.unhashed ?? 0;
      if (last.broken === undefined) continue;
      const { sequence, expected, found } = last.broken;
      faults++;
      await context.complain(`entry ${sequence} has ${found} in the place of ${expected}`);
    } while (last.checked > 0 && last.toSequence < last.head.sequence);
  } finally {
    bar.end();
  }
  // Without dropped entries the chain begins with GENESIS, the head of an empty log.
  if (anchor !== undefined && anchor !== (dropped?.hash ?? GENESIS) && !(await hasEntry(service, anchor))) {
    faults++;
    await context.complain(missingAnchor(anchor, dropped !== undefined));
  }
  await context.print(`${entries} entries, head ${last.head.hash}`);
  if (dropped !== undefined) await context.print(droppedLine(dropped));
  if (erased.entries > 0) await context.print(erasedLine(erased));
  await context.print(faults === 0 ? "The log is whole." : `The log is NOT whole: ${faults} faults.`);
  return faults === 0 ? 0 : 1;
};

/** `audit export` by `audit.getLogs`: its objects, one a line. @param since Unix ms. */
export const exportByService = async (service: CallService, since: number, { print }: CommandContext): Promise<ExitCode> => {
  const body = { limit: PER_PAGE, ...(since > 0 && { start: new Date(since).toISOString() }) };
  for await (const { rows } of pagesOf(service, "audit.getLogs", body, { most: Number.POSITIVE_INFINITY })) {
    for (const row of rows) await print(jsonLine(row));
  }
  return 0;
};
