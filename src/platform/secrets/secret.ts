import { randomBytes } from "node:crypto";
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

/** Draws from a CSPRNG, whatever the label. */
export const drawRandom: DrawBytes = (length) => randomBytes(length);
