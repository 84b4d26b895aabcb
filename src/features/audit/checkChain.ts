import type { AuditStub } from "../../platform/storage/port/auditEvents.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import { BEFORE_ALL, type ChainBreak, faultsOf, type Place } from "./auditFaults.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { breakOfStub, judgeBeginning } from "./auditStub.ts";
import { createErasedCount, type ErasedCount } from "./erasedCount.ts";
import { readChain } from "./readAudit.ts";

/** What a part of the chain was found to be. */
export interface ChainCheck {
  readonly checked: number;
  /** Number of the first entry that was to be checked. */
  readonly from: number;
  /** Number of the last entry that was checked; of the one before the first when there was none. */
  readonly to: number;
  readonly head: Place;
  /** The first break. */
  readonly broken: ChainBreak | undefined;
  /** What is left of the entries that were dropped; undefined when none was. */
  readonly dropped: AuditStub | undefined;
  /** Of those that were checked. */
  readonly erased: ErasedCount;
}

/** What the first entry has to follow on; a break where that cannot be known, or is not what it should be. */
const placeBefore = async (
  auditLog: AuditLogRepository,
  from: number,
  stub: AuditStub | null,
  options: OperationOptions,
): Promise<{ readonly before: Place; readonly isGone?: true; readonly broken?: ChainBreak | undefined }> => {
  if (stub !== null && from === stub.sequence + 1) return { before: stub, ...(await breakOfStub(auditLog, stub, options)) };
  if (from === 1) return { before: BEFORE_ALL };
  const sequence = from - 1;
  const [before] = await auditLog.findBySequence([sequence], options);
  if (before !== undefined) return { before };
  return { before: { sequence, hash: "" }, isGone: true, broken: { sequence, expected: `sequence ${sequence}`, found: "nothing" } };
};

/**
 * Checks up to `limit` entries of the chain from this number on, each together with how it follows on the one before.
 * @param from at least 1; undefined, or of an entry that was dropped = from the oldest one.
 */
export const checkChain = async (
  auditLog: AuditLogRepository,
  { from, limit }: { readonly from: number | undefined; readonly limit: number },
  { signal, caller }: OperationOptions = {},
): Promise<ChainCheck> => {
  const options = { signal, caller };
  const firstBehind = (stub: AuditStub | null): number => Math.max(from ?? 1, (stub?.sequence ?? 0) + 1);
  const judge = (stub: AuditStub | null) => placeBefore(auditLog, firstBehind(stub), stub, options);
  const { stub, ...place } = await judgeBeginning(auditLog, judge, options);
  const first = firstBehind(stub);
  // Entries before the first number are found from there only.
  const start = place.before === BEFORE_ALL && from !== undefined ? { ...BEFORE_ALL } : place.before;
  let broken = place.isGone === true ? undefined : place.broken;
  const erased = createErasedCount();
  let checked = 0;
  let to = first - 1;
  for await (const { entry, before, stated } of readChain(auditLog, start, options)) {
    // Behind the end of the chain there is nothing to be gone.
    if (checked === 0 && place.isGone === true) broken = place.broken;
    const follows = checked === 0 && place.isGone === true ? { ...before, hash: entry.previousHash } : before;
    erased.add(entry);
    broken ??= faultsOf(entry, follows, stated?.seal)[0]?.broken;
    to = entry.sequence;
    checked++;
    if (checked === limit) break;
  }
  const head = (await auditLog.head(options)) ?? BEFORE_ALL;
  return { checked, from: first, to, head, broken, dropped: stub ?? undefined, erased: erased.count() };
};
