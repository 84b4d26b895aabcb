/** Says that a directory is an export of events, and in which form. */
export const EXPORT_FORMAT = "latchkey-analytics-1";

/** Rows of one table of one day. */
export interface ExportedPart {
  readonly table: string;
  /** Of UTC, `2026-11-23`. */
  readonly day: string;
  /** A day of many rows is in several files: this one, counted from 0, of so many. */
  readonly slice: number;
  readonly of: number;
}

/** What all files of an export have in common. */
export interface ExportHeader {
  readonly format: string;
  /** The version of Latchkey that took it. */
  readonly product: string;
  /** Of the tables. */
  readonly tables: number;
  /** Unix ms. */
  readonly takenAt: number;
  /** Where the events were, for people. */
  readonly source: string;
  /** Names of the columns of each table. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
}

/** What an export will hold, from before its first file: one that was interrupted goes on by it. */
export interface ExportPlan extends ExportHeader {
  readonly parts: readonly ExportedPart[];
}

export interface ExportedFile extends ExportedPart {
  /** Relative to the directory. */
  readonly file: string;
  readonly bytes: number;
  /** Hex SHA-256. */
  readonly sha256: string;
}

/** All of an export, written last: without it the export is not whole. */
export interface ExportManifest extends ExportHeader {
  readonly files: readonly ExportedFile[];
}

export const MANIFEST = "manifest.json";
export const PLAN = "plan.json";

/** Where the rows of a part go. */
export const fileOf = ({ table, day, slice, of }: ExportedPart): string =>
  `${table}/${day}${of === 1 ? "" : `.${slice + 1}-of-${of}`}.parquet`;

/** Reads JSON that may have been cut off or altered; undefined for what is none. */
export const readJson = <T>(text: string): T | undefined => {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
};

/** Events cannot be exported, or imported, as things stand. The message is for the user. */
export class TransferRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TransferRefusedError";
  }
}
