import { setImmediate as nextTurn } from "node:timers/promises";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { BEFORE_ALL, type Place } from "./auditFaults.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { createFindSeal, type Stated } from "./erasedEntry.ts";

const PAGE = 500;
/** Checked in one turn of the event loop: some 10 µs each, with a user agent as long as headers may be 50. */
const ENTRIES_PER_TURN = 64;
/** Before the first entry: whoever puts one into the log may number it as they like. */
const BEGINNING = Number.MIN_SAFE_INTEGER;

/** Every entry of the log behind a number, all if none is given, in order, without holding more than a page of it. */
export async function* readAudit(
  auditLog: AuditLogRepository,
  from: number = BEGINNING,
  options: OperationOptions = {},
): AsyncGenerator<AuditLogDocument> {
  for (let after = from; ; ) {
    const page = await auditLog.listAfter(after, PAGE, options);
    for (const [i, entry] of page.entries()) {
      if (i % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
      yield entry;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.sequence;
  }
}

/** Entries behind a place, each with the one that it has to follow on and with what is stated of its erasure. What is dropped while they are read is passed over. */
export async function* readChain(
  auditLog: AuditLogRepository,
  start: Place,
  options: OperationOptions = {},
): AsyncGenerator<{ readonly entry: AuditLogDocument; readonly before: Place; readonly stated: Stated | undefined }> {
  const findSeal = createFindSeal(auditLog, options);
  let before = start;
  for await (const entry of readAudit(auditLog, start === BEFORE_ALL ? BEGINNING : start.sequence, options)) {
    if (entry.sequence > before.sequence + 1) {
      const stub = await auditLog.stub(options);
      if (stub !== null && stub.sequence > before.sequence) {
        if (entry.sequence <= stub.sequence) continue;
        before = stub;
      }
    }
    yield { entry, before, stated: await findSeal(entry) };
    before = entry;
  }
}
