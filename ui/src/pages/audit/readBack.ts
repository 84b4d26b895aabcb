/** A part of what lies in a span of time, oldest first. */
export interface Span<Entry> {
  readonly entries: readonly Entry[];
  /** There is more in the span than fits into one answer. */
  readonly overflows: boolean;
}

/** The position of a reader: everything from `end` on has been read. */
export interface Place {
  /** Unix ms, exclusive. */
  readonly end: number;
  /** Length of the next span, ms. */
  readonly length: number;
}

const firstLength = 3_600_000;

/** Where reading begins. */
export const firstPlace = (end: number): Place => ({ end, length: firstLength });

/**
 * Reads newest first what can only be listed oldest first: spans of time, from the end back, shorter where much happened and longer where
 * little did.
 * @param start Unix ms, inclusive: nothing before it is read
 * @param wanted how many entries are enough
 * @param readSpan reads from a time on, inclusive, up to another, exclusive; a span of one millisecond it has to read whole
 * @returns newest first; no `next` when everything has been read
 */
export const readBack = async <Entry>(
  { end: from, length: first }: Place,
  start: number,
  wanted: number,
  readSpan: (start: number, end: number) => Promise<Span<Entry>>,
): Promise<{ readonly entries: readonly Entry[]; readonly next: Place | undefined }> => {
  const found: Entry[] = [];
  let end = from;
  let length = first;
  while (end > start && found.length < wanted) {
    const begin = Math.max(start, end - length);
    const { entries, overflows } = await readSpan(begin, end);
    if (overflows && end - begin > 1) {
      length = Math.max(1, Math.floor((end - begin) / 8));
      continue;
    }
    found.push(...entries.toReversed());
    end = begin;
    if (entries.length < wanted / 4) length *= 8;
  }
  return { entries: found, next: end > start ? { end, length } : undefined };
};
