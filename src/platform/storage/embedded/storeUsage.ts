import { statfs } from "node:fs/promises";
import type { StoreUsage } from "../port/store.ts";
import { databaseFiles, type StoreFiles, sizeOf } from "./storeFiles.ts";

/** Bytes; of a file that is not there none. */
interface StoreSizes {
  readonly bytes: number;
  /** Before the store is opened, commits that were not folded in by a stop. */
  readonly walBytes: number;
  readonly counterBytes: number;
}

export const storeSizes = ({ database, wal, counters }: StoreFiles): StoreSizes => ({
  bytes: sizeOf(database) ?? 0,
  walBytes: sizeOf(wal) ?? 0,
  counterBytes: databaseFiles(counters).reduce((bytes, each) => bytes + (sizeOf(each) ?? 0), 0),
});

/** See `Store.usage`. */
export const storeUsage = async (directory: string, files: StoreFiles): Promise<StoreUsage> => {
  const { bytes, walBytes, counterBytes } = storeSizes(files);
  const { bavail, blocks, bsize } = await statfs(directory);
  return { files: { database: bytes, wal: walBytes, counters: counterBytes }, disk: { free: bavail * bsize, size: blocks * bsize } };
};
