import { DuplicateKeyError } from "../../platform/storage/port/errors.ts";
import { type AuditIndexRepository, BLOCK, blockWith } from "./auditIndexRepository.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";

/** Of a log that an earlier version wrote there may be any number, and new events are not to wait for them. */
const BLOCKS_PER_ROUND = 4;

/**
 * Indexes blocks of the audit log that are whole and not indexed yet, a few of them.
 * @param goesOn asked before each.
 */
export const indexAudit = async (
  { auditLog, auditIndex }: { readonly auditLog: AuditLogRepository; readonly auditIndex: AuditIndexRepository },
  goesOn: () => boolean = () => true,
): Promise<void> => {
  // Entries are numbered in the order in which they come: below the head there is nothing that is still to come.
  const end = (await auditLog.head())?.sequence ?? 0;
  let indexed = await auditIndex.indexed();
  for (let blocks = 0; blocks < BLOCKS_PER_ROUND && indexed + BLOCK <= end && goesOn(); blocks++) {
    const entries = await auditLog.listAfter(indexed, BLOCK);
    const block = blockWith(entries[0]?.sequence ?? indexed + 1);
    const upTo = (block + 1) * BLOCK;
    // What was dropped before it was indexed is passed over.
    if (upTo > end) return;
    try {
      await auditIndex.add(
        block,
        entries.filter(({ sequence }) => sequence <= upTo),
      );
    } catch (error) {
      // A node whose lease had run out was at it as well; what it left is there in the next round.
      if (error instanceof DuplicateKeyError) return;
      throw error;
    }
    indexed = upTo;
  }
};
