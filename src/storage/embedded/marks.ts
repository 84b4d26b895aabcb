import { randomUUID } from "node:crypto";
import { closeSync, existsSync, linkSync, openSync, readFileSync, renameSync, rmSync, write, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { StoreFiles } from "./storeFiles.ts";
import { syncDirectory } from "./syncDirectory.ts";
import { writeForOwner } from "./writeForOwner.ts";

/**
 * How far the other files of the store have come, in a file of its own: what one of them lacks is noticed by it. It is
 * written after the fact and never waited for, so what it says may be older than the others, and never newer.
 */
export interface Marks {
  /** The id of the store. */
  readonly store: string;
  /** Commits of the database. */
  readonly commits: number;
  /** The number of the last record of the counters' journal; 0 until the journal's files name their store. */
  readonly record: number;
}

/** 32 hexadecimal digits. */
const ID_LENGTH = 32;
/** Checksum of what follows it (u32), which slot it is (u32), the number (f64), all little-endian; the id of the store. */
const SLOT = { checksum: 0, which: 4, number: 8, store: 16, size: 64 } as const;
/** Both lie in one sector of any disk, which writes that whole or not at all. */
const SLOTS = ["commits", "record"] as const;

const fill = (slot: Buffer, which: number, store: string, number: number): Buffer => {
  slot.writeUInt32LE(which, SLOT.which);
  slot.writeDoubleLE(number, SLOT.number);
  slot.write(store, SLOT.store, ID_LENGTH, "latin1");
  slot.writeUInt32LE(crc32(slot.subarray(SLOT.which)), SLOT.checksum);
  return slot;
};

/** Throws when the file is missing. */
export const readMarks = (file: string): Marks | "damaged" => {
  const bytes = readFileSync(file);
  const [commits, record] = SLOTS.map((_, which) => {
    const slot = bytes.subarray(which * SLOT.size, (which + 1) * SLOT.size);
    const isWhole =
      slot.length === SLOT.size &&
      slot.readUInt32LE(SLOT.which) === which &&
      crc32(slot.subarray(SLOT.which)) === slot.readUInt32LE(SLOT.checksum);
    return isWhole
      ? { number: slot.readDoubleLE(SLOT.number), store: slot.toString("latin1", SLOT.store, SLOT.store + ID_LENGTH) }
      : undefined;
  });
  if (commits === undefined || record === undefined || commits.store !== record.store) return "damaged";
  return { store: commits.store, commits: commits.number, record: record.number };
};

type MarkFiles = Pick<StoreFiles, "marks" | "database">;

/** Writes a file that nobody else knows of, for the owner of the database only, and on disk; `place` gives it its name. */
const makeMarks = ({ marks: file, database }: MarkFiles, marks: Marks, place: (draft: string) => void): void => {
  const draft = `${file}.${process.pid}-${randomUUID()}.new`;
  const slots = SLOTS.map((name, which) => fill(Buffer.alloc(SLOT.size), which, marks.store, marks[name]));
  try {
    writeForOwner(draft, Buffer.concat(slots), database, dirname(file));
    place(draft);
  } finally {
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(file));
};

/**
 * Makes the file, whole or not at all. One that another process made meanwhile stays: that one, or a third, may have opened it, and
 * marks in a file that was replaced reach nobody.
 */
export const createMarks = (files: MarkFiles, marks: Marks): void =>
  makeMarks(files, marks, (draft) => {
    try {
      linkSync(draft, files.marks);
    } catch (error) {
      // Not every file system knows links.
      if (!existsSync(files.marks)) renameSync(draft, files.marks);
      else if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  });

/** The same in the place of the file that is there; only for who has the store for itself. */
export const replaceMarks = (files: MarkFiles, marks: Marks): void => makeMarks(files, marks, (draft) => renameSync(draft, files.marks));

const ATTEMPTS = 3;
const PAUSE_MS = 20;

/** What `read` says, unless it says only in passing that the marks are damaged: a reader may meet them half written. */
export const readSettled = (read: () => Marks | "damaged"): Marks | "damaged" => {
  for (let attempt = 1; ; attempt++) {
    const marks = read();
    if (marks !== "damaged" || attempt === ATTEMPTS) return marks;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
};

/** Writes one of the numbers. Where that fails, the file tells of less: nobody has to hear of it. */
export interface MarkWriter {
  /** At once; survives the end of the process, and with the next flush of the operating system that of the machine. */
  readonly writeNow: (store: string, number: number) => void;
  /** The same without holding up this thread. One that waits is left out when another one comes. */
  readonly write: (store: string, number: number) => void;
  readonly close: () => void;
}

/** Undefined when the file cannot be opened, as long as it is not there. */
export const openMark = (file: string, name: (typeof SLOTS)[number]): MarkWriter | undefined => {
  const which = SLOTS.indexOf(name);
  let descriptor: number;
  try {
    descriptor = openSync(file, "r+");
  } catch {
    return undefined;
  }
  const slot = Buffer.alloc(SLOT.size);
  let isWriting = false;
  let isClosed = false;
  let waiting: { readonly store: string; readonly number: number } | undefined;

  const next = (): void => {
    if (waiting === undefined || isClosed) {
      isWriting = false;
      if (isClosed) closeSync(descriptor);
      return;
    }
    isWriting = true;
    const bytes = fill(Buffer.alloc(SLOT.size), which, waiting.store, waiting.number);
    waiting = undefined;
    write(descriptor, bytes, 0, SLOT.size, which * SLOT.size, next);
  };

  return {
    writeNow: (store, number) => {
      try {
        writeSync(descriptor, fill(slot, which, store, number), 0, SLOT.size, which * SLOT.size);
      } catch {
        // It tells of less.
      }
    },
    write: (store, number) => {
      waiting = { store, number };
      if (!isWriting && !isClosed) next();
    },
    close: () => {
      isClosed = true;
      if (!isWriting) closeSync(descriptor);
    },
  };
};
