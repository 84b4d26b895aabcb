/** The engine refused a statement, or failed at it. `code` is ClickHouse's number of the error. */
export class EngineError extends Error {
  readonly code: number;
  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EngineError";
    this.code = code;
  }
}

/** The engine cannot be reached, or did not answer. Whether a write happened is unknown. */
export class EngineUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EngineUnavailableError";
  }
}

/** The answer is larger than the reader wanted. */
export class AnswerTooLargeError extends Error {
  constructor(bytes: number) {
    super(`the answer has more than ${bytes} bytes`);
    this.name = "AnswerTooLargeError";
  }
}

/** Errors that say nothing about the statement: the engine is overloaded, full, away from its peers, or refuses us. */
const engineTroubles: ReadonlySet<number> = new Set([
  74, 75, 76, 164, 192, 193, 194, 202, 209, 210, 225, 242, 243, 244, 252, 279, 285, 425, 497, 516, 999,
]);

/** True when the same statement may succeed later, unchanged. */
export const isTrouble = (error: unknown): boolean =>
  error instanceof EngineUnavailableError || (error instanceof EngineError && engineTroubles.has(error.code));
