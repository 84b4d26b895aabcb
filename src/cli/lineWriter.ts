import type { Writable } from "node:stream";

export interface LineWriter {
  /** Writes a line. Resolves when there is room for the next one, also when the reader has left: what is written then is lost. */
  readonly print: (line: string) => Promise<void>;
  /** Resolves when all that was printed has reached the reader, or it has left. A process that ends before that cuts it off. */
  readonly finish: () => Promise<void>;
}

/** Lines to a stream that may be a pipe with a slow reader. A reader that leaves is no reason to fail: `serve` goes on without. */
export const createLineWriter = (stream: Writable): LineWriter => {
  stream.on("error", () => undefined);
  const hasRoom = (): Promise<void> =>
    new Promise((resolve) => {
      const settle = (): void => {
        stream.off("drain", settle).off("close", settle).off("error", settle);
        resolve();
      };
      stream.on("drain", settle).on("close", settle).on("error", settle);
    });
  return {
    print: async (line) => {
      if (stream.write(`${line}\n`) || stream.destroyed) return;
      await hasRoom();
    },
    finish: () => new Promise((resolve) => (stream.destroyed ? resolve() : stream.write("", () => resolve()))),
  };
};
