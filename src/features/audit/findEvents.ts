import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { type AuditFilter, matchesFilter, termsOfFilter } from "./auditFilter.ts";
import { type AuditIndexRepository, BLOCK } from "./auditIndexRepository.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { type BlockWalk, type Stop, walkSpans, walkTerms } from "./blockWalks.ts";

/** Rows that one page looks at: beyond them it ends, and the caller goes on from there. The block that it is at comes on top. */
const MOST_ROWS = 1_000;
const PAGE = 250;

export interface FoundEvents {
  /** Ascending by their number. */
  readonly entries: readonly AuditLogDocument[];
  /** Number of the last entry that was looked at: what is found later comes after it. */
  readonly after: number;
  /** There is something behind, or it has not been looked at. */
  readonly hasMore: boolean;
}

export interface FindEventsDeps {
  readonly auditLog: AuditLogRepository;
  readonly auditIndex: AuditIndexRepository;
}

/** Entries behind a number, without those behind one that is still on its way. */
const listSettled = async ({ auditLog }: FindEventsDeps, after: number, limit: number, options: OperationOptions) => {
  const page = await auditLog.listAfter(after, limit, options);
  const last = page.at(-1);
  if (last === undefined || page.every(({ sequence }, i) => sequence === after + i + 1)) return page;
  // A number is left out: that entry came while the others were read, and is there by now, or it is gone for good.
  return (await auditLog.listAfter(after, limit, options)).filter(({ sequence }) => sequence <= last.sequence);
};

const common = (sets: readonly ReadonlySet<number>[]): number[] => {
  const [first = new Set<number>(), ...others] = sets;
  return [...first].filter((each) => others.every((set) => set.has(each))).sort((a, b) => a - b);
};

const wholeBlock: ReadonlySet<number> = new Set(Array.from({ length: BLOCK }, (_, i) => i + 1));

/**
 * Up to `limit` entries behind the number `after` that match, in the order of the chain, gap-free: what is indexed is found
 * block by block, the rest is looked through. What was dropped is passed over. Looks at a bounded number of rows, and may so find fewer while there are more.
 */
export const findEvents = async (
  deps: FindEventsDeps,
  filter: AuditFilter,
  { after, limit }: { readonly after: number; readonly limit: number },
  options: OperationOptions = {},
): Promise<FoundEvents> => {
  const { auditLog, auditIndex } = deps;
  const { signal, caller } = options;
  const behalf = { signal, caller };
  const entries: AuditLogDocument[] = [];
  let looked = 0;
  const dropped = (await auditLog.stub(behalf))?.sequence ?? 0;
  const start = Math.max(after, dropped);
  let position = start;

  /** False when it matches and there is no more room. */
  const take = (entry: AuditLogDocument): boolean => {
    if (matchesFilter(filter, entry.event)) {
      if (entries.length === limit) return false;
      entries.push(entry);
    }
    position = entry.sequence;
    return true;
  };
  const found = (hasMore: boolean): FoundEvents => ({ entries, after: position, hasMore });

  const spend = (rows: number): void => {
    looked += rows;
  };
  const reading = { auditIndex, options: behalf, spend };
  const walks: readonly BlockWalk[] = [
    ...termsOfFilter(filter).map((terms) => walkTerms(reading, terms)),
    ...(filter.start === undefined && filter.end === undefined ? [] : [walkSpans(reading, filter)]),
  ];

  const indexed = walks.length === 0 ? 0 : await auditIndex.indexed(behalf);
  for (let block = Math.floor(start / BLOCK); block < indexed / BLOCK; ) {
    if (looked >= MOST_ROWS) return found(true);
    const from = block;
    // One after the other: each may read as much at once as one page should.
    const stops: (Stop | undefined)[] = [];
    for (const walk of walks) stops.push(await walk(from));
    const next = Math.max(...stops.map((stop) => stop?.block ?? Number.POSITIVE_INFINITY));
    if (next > block) {
      block = next;
      position = Math.max(position, Math.min(block * BLOCK, indexed));
      continue;
    }
    const offsets = common(stops.map((stop) => stop?.offsets ?? wholeBlock));
    const sequences = offsets.map((offset) => from * BLOCK + offset).filter((sequence) => sequence > start);
    const inBlock = await auditLog.findBySequence(sequences, behalf);
    looked += inBlock.length;
    for (const entry of inBlock) if (!take(entry)) return found(true);
    block++;
    position = block * BLOCK;
  }

  for (;;) {
    if (looked >= MOST_ROWS) return found(true);
    const wanted = walks.length === 0 ? limit + 1 - entries.length : PAGE;
    const page = await listSettled(deps, position, wanted, behalf);
    looked += page.length;
    for (const entry of page) if (!take(entry)) return found(true);
    if (page.length < wanted) return found(false);
  }
};
