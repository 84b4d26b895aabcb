import type { Violation } from "../../domain/errors.ts";

const sendJson = "send one JSON value (RFC 8259) in UTF-8, for example {}";

/**
 * Ends the reading of a body: it is no message at all, or beyond a bound. What else is wrong with it is then not told.
 */
export class Unreadable extends Error {
  readonly fix: string | undefined;
  /** Where in the body; undefined: the body itself, wherever it was noticed. */
  #location: string | undefined = "";

  constructor(message: string, fix?: string) {
    super(message);
    this.fix = fix;
  }

  static ofBody(message: string, fix?: string): Unreadable {
    const error = new Unreadable(message, fix);
    error.#location = undefined;
    return error;
  }

  static undecodable(message: string): Unreadable {
    return Unreadable.ofBody(message, sendJson);
  }

  /** `position` of the first wrong byte; undefined when the text ends too early. */
  static notJson(position: number | undefined): Unreadable {
    return Unreadable.undecodable(position === undefined ? "the JSON ends too early" : `not valid JSON at position ${position}`);
  }

  /** The same error on its way up, `segment` (`.name`, `[3]`) put in front of its place. */
  static within(error: unknown, segment: string): unknown {
    if (error instanceof Unreadable && error.#location !== undefined) error.#location = segment + error.#location;
    return error;
  }

  get violation(): Violation {
    const { message, fix } = this;
    const location = `body${this.#location ?? ""}`;
    return fix === undefined ? { location, message } : { location, message, fix };
  }
}

export const tooManyValues = (most: number): Unreadable => Unreadable.ofBody(`holds more than ${most} values`, "send fewer items at once");
