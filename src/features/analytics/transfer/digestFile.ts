import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** Length and hex SHA-256 of a file. */
export const digestFile = async (file: string): Promise<{ readonly bytes: number; readonly sha256: string }> => {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest("hex") };
};
