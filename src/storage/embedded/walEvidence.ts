import { readFileSync } from "node:fs";

/** What a log of SQLite's says of the database that it was begun for. */
export interface WalEvidence {
  /** Numbers of the pages that it has. */
  readonly pages: ReadonlySet<number>;
  /** Bytes; 0 where there are none. */
  readonly pageSize: number;
  /** What the row of a store counted with the first commit in the log; undefined when that cannot be told. */
  readonly firstCommits: (store: string) => number | undefined;
}

/** Of the log: a header with the size of pages and two salts, then frames, each with its page's number and the same salts. */
const HEADER = { magic: 0, pageSize: 8, salts: 16, size: 32 } as const;
/** Its lowest bit is for the order of bytes in checksums. */
const MAGIC = 0x377f0682;
const FRAME = { page: 0, salts: 8, size: 24 } as const;
const SALTS = 8;
/** Bytes of an integer in a row, by its type. */
const INTEGER_BYTES = [undefined, 1, 2, 3, 4, 6, 8] as const;

/** The number behind the store's id in its row, whose type stands before the id. */
const commitsIn = (page: Buffer, store: string): number | undefined => {
  const at = page.indexOf(store);
  if (at < 1) return undefined;
  const type = page[at - 1] as number;
  if (type === 8 || type === 9) return type - 8;
  const bytes = INTEGER_BYTES[type];
  const from = at + store.length;
  if (bytes === undefined || from + bytes > page.length) return undefined;
  return bytes === 8 ? Number(page.readBigInt64BE(from)) : page.readIntBE(from, bytes);
};

export const readWal = (file: string): WalEvidence => {
  const bytes = readFileSync(file);
  const pages = new Set<number>();
  const contents: Buffer[] = [];
  const isLog = bytes.length >= HEADER.size && (bytes.readUInt32BE(HEADER.magic) & ~1) >>> 0 === MAGIC;
  const pageSize = isLog ? bytes.readUInt32BE(HEADER.pageSize) : 0;
  const salts = bytes.subarray(HEADER.salts, HEADER.salts + SALTS);
  for (let at: number = HEADER.size; isLog && at + FRAME.size + pageSize <= bytes.length; at += FRAME.size + pageSize) {
    // Behind it stands what is left of an earlier log.
    if (!bytes.subarray(at + FRAME.salts, at + FRAME.salts + SALTS).equals(salts)) break;
    pages.add(bytes.readUInt32BE(at + FRAME.page));
    contents.push(bytes.subarray(at + FRAME.size, at + FRAME.size + pageSize));
  }
  return {
    pages,
    pageSize,
    firstCommits: (store) => {
      for (const page of contents) {
        const commits = commitsIn(page, store);
        if (commits !== undefined) return commits;
      }
      return undefined;
    },
  };
};
