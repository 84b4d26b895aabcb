import { DocumentTooNewError, StoreDamagedError } from "../storage/port/errors.ts";

const MOST_IDS = 1000;

interface PendingRead<D> {
  readonly id: string;
  readonly resolve: (document: D | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A batching loader of objects by their ids: those that are asked for in one turn of the event loop become one read, of at most 1000.
 * A thousand reads of their own would wait for the store's connections longer than anyone has time.
 */
export const createBatchLoader = <D extends { readonly _id: string }>(
  findMany: (ids: readonly string[]) => Promise<readonly D[]>,
): ((id: string) => Promise<D | null>) => {
  let waiting: PendingRead<D>[] = [];

  /** One object that is damaged, or too new, is nothing to those who asked for others. */
  const readAlone = async ({ id, resolve, reject }: PendingRead<D>): Promise<void> => {
    try {
      resolve((await findMany([id]))[0] ?? null);
    } catch (error) {
      reject(error);
    }
  };

  const read = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    try {
      const found = new Map((await findMany([...new Set(batch.map(({ id }) => id))])).map((document) => [document._id, document]));
      for (const { id, resolve } of batch) resolve(found.get(id) ?? null);
    } catch (error) {
      const isOfOne = error instanceof StoreDamagedError || error instanceof DocumentTooNewError;
      if (isOfOne && batch.length > 1) for (const each of batch) void readAlone(each);
      else for (const { reject } of batch) reject(error);
    }
  };

  return (id) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(() => void read());
      waiting.push({ id, resolve, reject });
      if (waiting.length === MOST_IDS) void read();
    });
};
