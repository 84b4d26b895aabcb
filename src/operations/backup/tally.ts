import { hash } from "node:crypto";
import { indexes } from "../../platform/storage/port/indexes.ts";
import type { BackedUpCollection } from "./backedUp.ts";
import type { SourceBatch } from "./backupSource.ts";

/** What a collection holds, in a form that two stores can be compared by. */
export interface CollectionTally {
  readonly documents: number;
  /** Hexadecimal: the sum of the documents' SHA-256, modulo 2^256, so that their order means nothing. */
  readonly digest: string;
}

export type Tallies = Readonly<Partial<Record<BackedUpCollection, CollectionTally>>>;

const MODULUS = 1n << 256n;

/** A document whose fields stand in another order is the same: stores put its id first, or a field that was added last. */
const inOrder = (text: string): string => {
  const fields = Object.entries(JSON.parse(text) as object);
  return JSON.stringify(fields.sort(([one], [another]) => (one < another ? -1 : 1)));
};

/** Counts batches. */
export const createTally = () => {
  const sums = new Map<BackedUpCollection, { documents: number; sum: bigint }>();
  return {
    add: ({ collection, texts }: SourceBatch): void => {
      const tally = sums.get(collection) ?? { documents: 0, sum: 0n };
      for (const text of texts) tally.sum += BigInt(`0x${hash("sha256", inOrder(text))}`);
      tally.sum %= MODULUS;
      tally.documents += texts.length;
      sums.set(collection, tally);
    },
    result: (): Tallies =>
      Object.fromEntries(
        [...sums].map(([collection, { documents, sum }]) => [
          collection,
          { documents, digest: sum.toString(16).padStart(64, "0") } satisfies CollectionTally,
        ]),
      ),
  };
};

/** The field of a collection by which its documents expire, a Date, if it has one: they may go at any time. */
export const expiryOf = (collection: BackedUpCollection): string | undefined =>
  indexes.find((index) => index.collection === collection && index.expiry)?.fields[0];
