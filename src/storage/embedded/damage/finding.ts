/** Something that a file of the store lacks, or has too much. */
export interface Finding {
  readonly kind: "gone" | "wal" | "unreadable" | "behind" | "foreign" | "marks" | "log" | "lock" | "rootKey";
  /** Path of the file. */
  readonly file: string;
  /** What is wrong with it, as the end of a sentence about it. */
  readonly what: string;
  /** What is lost when the store goes on as it is. */
  readonly lost: string;
}
