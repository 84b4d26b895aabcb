import type { ServerHttp2Stream } from "node:http2";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { swallowStream } from "../../src/platform/http/drain.ts";

test("one piece of an unread body is taken in each turn of the event loop", async () => {
  const pieces = 20;
  const source = Readable.from(Array.from({ length: pieces }, () => Buffer.alloc(64 * 1024)));
  let turn = 0;
  let isOver = false;
  const turns: number[] = [];
  source.on("data", () => turns.push(turn)).on("end", () => (isOver = true));
  swallowStream({ session: undefined, close: () => undefined } as unknown as ServerHttp2Stream, source);
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    turn++;
  }
  expect(turns).toHaveLength(pieces);
  expect(new Set(turns).size).toBe(pieces);
});
