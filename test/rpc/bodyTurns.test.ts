import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { ServiceError } from "../../src/platform/base/errors.ts";
import { type BodyBounds, collectBody } from "../../src/platform/http/readBody.ts";

const piece = 64 * 1024;
const pieces = 40;

const bounds = (signal: AbortSignal): BodyBounds => ({
  declared: undefined,
  limit: 10_485_760,
  overhead: 0,
  timed: false,
  isGone: false,
  owner: {
    path: ["rk_1"],
    signal,
    hold: () => ({ grow: () => true, pin: () => undefined, give: () => undefined }),
    charge: () => undefined,
  },
});

/** A connection on which everything is there. */
const eager = (taken: () => void): Readable => {
  let sent = 0;
  return new Readable({
    highWaterMark: 1,
    read() {
      taken();
      this.push(sent++ < pieces ? Buffer.alloc(piece, sent) : null);
    },
  });
};

test("a large body is taken from its connection in turns, and arrives whole", async () => {
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const count = (): void => {
    most = Math.max(most, ++inTurn);
  };
  const body = new Promise<Buffer | ServiceError>((resolve) => collectBody(eager(count), bounds(new AbortController().signal), resolve));
  const endTurn = (): void => {
    inTurn = 0;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  const whole = await body;
  isOver = true;
  // Compared by `equals`: the matcher takes seconds for megabytes.
  const sent = Buffer.concat(Array.from({ length: pieces }, (_, i) => Buffer.alloc(piece, i + 1)));
  expect(whole instanceof Buffer && whole.equals(sent)).toBe(true);
  // One that makes it large, and those that a stream reads ahead.
  expect(most).toBeLessThanOrEqual(4);
});
