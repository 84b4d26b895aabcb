import { closeSync, openSync, readSync } from "node:fs";

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

/** A page in the log, by its number. Its contents are valid until the next one. */
interface Frame {
  readonly page: number;
  readonly contents: Buffer;
}

const readHeader = (descriptor: number): { readonly pageSize: number; readonly salts: Buffer } | undefined => {
  const header = Buffer.alloc(HEADER.size);
  const isLog = readSync(descriptor, header, 0, HEADER.size, 0) === HEADER.size && (header.readUInt32BE(HEADER.magic) & ~1) >>> 0 === MAGIC;
  if (!isLog) return undefined;
  return { pageSize: header.readUInt32BE(HEADER.pageSize), salts: header.subarray(HEADER.salts, HEADER.salts + SALTS) };
};

/** One after the other: a log may be larger than memory. */
const framesIn = function* (descriptor: number, { pageSize, salts }: NonNullable<ReturnType<typeof readHeader>>): Generator<Frame, void> {
  const size = FRAME.size + pageSize;
  const frame = Buffer.alloc(size);
  for (let at: number = HEADER.size; readSync(descriptor, frame, 0, size, at) === size; at += size) {
    // Behind it stands what is left of an earlier log.
    if (!frame.subarray(FRAME.salts, FRAME.salts + SALTS).equals(salts)) return;
    yield { page: frame.readUInt32BE(FRAME.page), contents: frame.subarray(FRAME.size) };
  }
};

const inFrames = <T>(file: string, look: (frames: Iterable<Frame>, pageSize: number) => T): T => {
  const descriptor = openSync(file, "r");
  try {
    const header = readHeader(descriptor);
    return look(header === undefined ? [] : framesIn(descriptor, header), header?.pageSize ?? 0);
  } finally {
    closeSync(descriptor);
  }
};

export const readWal = (file: string): WalEvidence =>
  inFrames(file, (frames, pageSize) => {
    const pages = new Set<number>();
    for (const { page } of frames) pages.add(page);
    return {
      pages,
      pageSize,
      firstCommits: (store) =>
        inFrames(file, (again) => {
          for (const { contents } of again) {
            const commits = commitsIn(contents, store);
            if (commits !== undefined) return commits;
          }
          return undefined;
        }),
    };
  });
