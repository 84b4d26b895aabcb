import pMap from "p-map";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { AuditFilter } from "./auditFilter.ts";
import type { AuditIndexRepository, AuditPlaces, AuditTerm } from "./auditIndexRepository.ts";

/** The next block that may have what is wanted, and where in it; without offsets: anywhere, or it has to be asked again there. */
export interface Stop {
  readonly block: number;
  readonly offsets?: ReadonlySet<number>;
}

/** @param block not before that of the question before. Undefined: there is none. */
export type BlockWalk = (block: number) => Promise<Stop | undefined>;

/** Rows that are read ahead, of all terms of a condition together. */
const READ_AHEAD = 64;
/** A hundred names of events would otherwise be a hundred reads at once. */
const READS_AT_ONCE = 8;
const SPANS_AT_A_TIME = 500;

type Places = (block: number) => Promise<AuditPlaces | undefined>;

interface Reading {
  readonly auditIndex: AuditIndexRepository;
  readonly options: OperationOptions;
  /** Hears of rows that were looked at. */
  readonly spend: (rows: number) => void;
}

const walkTerm = ({ auditIndex, options, spend }: Reading, term: AuditTerm, readAhead: number): Places => {
  let rows: AuditPlaces[] = [];
  let isEnd = false;
  return async (block) => {
    rows = rows.filter((row) => row.block >= block);
    if (rows.length === 0 && !isEnd) {
      rows = await auditIndex.find(term, block, readAhead, options);
      isEnd = rows.length < readAhead;
      spend(rows.length + 1);
    }
    return rows[0];
  };
};

/** Blocks with entries that have one of the terms. */
export const walkTerms = (reading: Reading, terms: readonly AuditTerm[]): BlockWalk => {
  const readAhead = Math.max(1, Math.floor(READ_AHEAD / terms.length));
  const walks = terms.map((term) => walkTerm(reading, term, readAhead));
  return async (from) => {
    const next = (await pMap(walks, (walk) => walk(from), { concurrency: READS_AT_ONCE })).filter((places) => places !== undefined);
    if (next.length === 0) return undefined;
    const block = Math.min(...next.map((places) => places.block));
    return { block, offsets: new Set(next.flatMap((places) => (places.block === block ? places.offsets : []))) };
  };
};

/** Blocks in which something happened in this time. */
export const walkSpans = ({ auditIndex, options, spend }: Reading, { start, end }: AuditFilter): BlockWalk => {
  let known: { readonly from: number; readonly until: number; readonly fitting: readonly number[] } = { from: 0, until: 0, fitting: [] };
  return async (block) => {
    if (block < known.from || block >= known.until) {
      const spans = await auditIndex.spans(block, SPANS_AT_A_TIME, options);
      const last = spans.at(-1);
      if (last === undefined) return undefined;
      spend(spans.length);
      const fitting = spans.filter(({ from, to }) => to >= (start ?? Number.NEGATIVE_INFINITY) && from < (end ?? Number.POSITIVE_INFINITY));
      known = { from: block, until: last.block + 1, fitting: fitting.map((span) => span.block) };
    }
    return { block: known.fitting.find((each) => each >= block) ?? known.until };
  };
};
