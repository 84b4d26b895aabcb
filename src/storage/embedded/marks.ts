import { closeSync, fsyncSync, openSync, readFileSync, renameSync, write, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { syncDirectory } from "./syncDirectory.ts";

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

/** Makes the file, for its owner only, or takes the place of the one that is there; whole or not at all, and on disk. */
export const createMarks = (file: string, marks: Marks): void => {
  const draft = `${file}.new`;
  const slots = SLOTS.map((name, which) => fill(Buffer.alloc(SLOT.size), which, marks.store, marks[name]));
  writeFileSync(draft, Buffer.concat(slots), { mode: 0o600 });
  const descriptor = openSync(draft, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(draft, file);
  syncDirectory(dirname(file));
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
