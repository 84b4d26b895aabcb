import { ServiceError } from "../../platform/base/errors.ts";
import { AnswerTooLargeError, EngineError, EngineUnavailableError, isTrouble } from "./engineErrors.ts";

const TIME: ReadonlySet<number> = new Set([159, 160, 394]);
const MEMORY: ReadonlySet<number> = new Set([241, 307]);
const ROWS: ReadonlySet<number> = new Set([158, 191, 396]);
const UNKNOWN_FUNCTION = 46;
const UNKNOWN_COLUMN = 47;
const UNKNOWN_TABLE: ReadonlySet<number> = new Set([60, 81]);
const SYNTAX = 62;
const LONGEST_DETAIL = 300;

/** What the engine says after these words shows the query as it runs, or where it ran. */
const internals =
  /:? ?\b(?:in scope|while executing|while processing|maybe you meant|stack trace|in query|expected one of|consider rising|there are no|required columns)\b/i;

/** The engine refuses or fails at what a statement says, and not for what it takes or for what is wrong with the engine. */
export const isOfStatement = (error: EngineError): boolean =>
  ![TIME, MEMORY, ROWS].some((codes) => codes.has(error.code)) && !isTrouble(error);

export interface QueryErrorContext {
  readonly querySeconds: number;
  /** Stands before the names of tables in what the engine says. */
  readonly database: string;
  /** Texts that the query got from us; a message that holds one is not shown at all. */
  readonly secrets: readonly string[];
}

/** For an error that only the rows of a query explain: what the engine says of it may repeat a value of theirs. */
export const errorOfRows = (error: EngineError): ServiceError =>
  new ServiceError(
    "invalid_analytics_query",
    `The query fails on a value that it reads (error ${error.code} of the engine): a conversion or a calculation does not take it.`,
    { cause: error },
  );

/** The engine's message as a caller may see it: without the query that ran, physical names and filters (analytics §2). */
const publicMessage = ({ message, code }: EngineError, { database, secrets }: QueryErrorContext): string => {
  const [sentence = ""] = message.replace(/^Code: \d+\. DB::Exception: /, "").split(internals, 1);
  const text = sentence
    .replaceAll(`${database}.`, "")
    .replace(/\s*\([A-Z_]{4,}\)\.?\s*$/, "")
    .replace(/\b__table\d+\./g, "")
    .replace(/[\s:.]+$/, "")
    .trim();
  const isTelling = text === "" || secrets.some((secret) => text.includes(secret));
  return isTelling ? `The query cannot be run (error ${code} of the engine).` : `${text.slice(0, LONGEST_DETAIL)}.`;
};

/**
 * What went wrong with a query, as the contract names it (analytics §2). Anything that is no engine's error is returned as
 * it is. The message of an `EngineError` is shown, so it must be one of a statement that read no rows.
 */
export const toQueryError = (error: unknown, context: QueryErrorContext): unknown => {
  const options = { cause: error };
  if (error instanceof AnswerTooLargeError) {
    return new ServiceError("query_memory_limit_exceeded", "The response is larger than 4 MiB. Select fewer rows or columns.", options);
  }
  if (error instanceof EngineUnavailableError || isTrouble(error)) {
    return new ServiceError("analytics_connection_failed", "The analytics store cannot be reached. Try again shortly.", options);
  }
  if (!(error instanceof EngineError)) return error;
  const { code } = error;
  if (TIME.has(code)) {
    return new ServiceError("query_execution_timeout", `The query ran longer than ${context.querySeconds} s. Read less.`, options);
  }
  if (MEMORY.has(code)) {
    return new ServiceError("query_memory_limit_exceeded", "The query needs more memory than it may use.", options);
  }
  if (ROWS.has(code)) return new ServiceError("query_rows_limit_exceeded", "The query reads or returns too many rows.", options);
  const [, quoted = "?"] = /[`']([^`']{1,100})[`']/.exec(error.message) ?? [];
  if (code === UNKNOWN_COLUMN) return new ServiceError("invalid_analytics_query", `Unknown column ${quoted}.`, options);
  if (code === UNKNOWN_FUNCTION) {
    return new ServiceError("invalid_analytics_function", publicMessage(error, context), options);
  }
  if (UNKNOWN_TABLE.has(code)) return new ServiceError("invalid_analytics_table", "Unknown table.", options);
  if (code === SYNTAX && /empty query/i.test(error.message)) {
    return new ServiceError("invalid_analytics_query", "The query is empty.", options);
  }
  return new ServiceError("invalid_analytics_query", publicMessage(error, context), options);
};
