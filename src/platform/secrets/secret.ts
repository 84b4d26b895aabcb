import { randomFillSync } from "node:crypto";
import { inspect } from "node:util";

/** A text that prints as `***` wherever it is logged, serialised or interpolated; `reveal` is the one way to read it. */
export interface Secret {
  readonly reveal: () => string;
  readonly toString: () => string;
  readonly toJSON: () => string;
}

const masked = (): string => "***";

export const secret = (text: string): Secret => {
  const wrapped: Secret = { reveal: () => text, toString: masked, toJSON: masked };
  Object.defineProperty(wrapped, inspect.custom, { value: masked });
  return wrapped;
};

/** Draws unguessable bytes. @param label separates the kinds of secrets */
export type DrawBytes = (length: number, label: string) => Uint8Array;

/** Filled at once: to ask for so many bytes costs little more than for a few. */
const pool = Buffer.allocUnsafeSlow(4096);
let next = pool.length;

/** Draws from a CSPRNG, whatever the label. */
export const drawRandom: DrawBytes = (length) => {
  if (length > pool.length / 4) return randomFillSync(new Uint8Array(length));
  if (next + length > pool.length) {
    randomFillSync(pool);
    next = 0;
  }
  const drawn = Uint8Array.prototype.slice.call(pool, next, next + length);
  // Nothing of a secret stays behind.
  pool.fill(0, next, next + length);
  next += length;
  return drawn;
};
