import type { Writable } from "node:stream";

/**
 * Writes lines to a stream that may be a pipe with a slow reader, or a file on a full disk. The promise of a line resolves once
 * the line is out of the process, so that one which waits for it neither fills its memory nor ends too early; it rejects when
 * the line did not get there, because of the disk or because the reader has left.
 *
 * @param name of the stream, for people.
 */
export const createLineWriter = (stream: Writable, name: string): ((line: string) => Promise<void>) => {
  // Each line's promise tells of it.
  stream.on("error", () => undefined);
  return (line) =>
    new Promise((resolve, reject) => {
      stream.write(`${line}\n`, (error) => {
        if (error) reject(new Error(`${name} cannot be written`, { cause: error }));
        else resolve();
      });
    });
};
