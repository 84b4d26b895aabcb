import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../../../base/errors.ts";
import { answerEarly, hasRemainder, swallowSmall } from "../../../http/drain.ts";
import type { ErrorBody } from "../../../http/errorBody.ts";
import { errorStatus } from "../../../http/errorStatus.ts";
import { addFields } from "../../../http/headerFields.ts";
import { isGone } from "../../../http/http2Stream.ts";
import { type ErrorMediaTypes, errorMediaType } from "./mediaType.ts";

/** Writes an answer in one piece. `headers` are names and values in turns, without a Content-Length. */
export const answer = (res: ServerResponse, status: number, headers: readonly string[], body: string): void => {
  const length = Buffer.byteLength(body);
  res.writeHead(status, [...headers, "Content-Length", `${length}`]);
  // Text of ASCII characters only is the same in latin1, which node writes faster.
  res.end(body, length === body.length ? "latin1" : "utf8");
};

/** The same for a long body in pieces. */
export const answerLong = (res: ServerResponse, status: number, headers: readonly string[], pieces: readonly Buffer[]): void => {
  const length = pieces.reduce((sum, { length }) => sum + length, 0);
  res.writeHead(status, [...headers, "Content-Length", `${length}`]);
  for (const piece of pieces) res.write(piece);
  res.end();
};

export interface Failure {
  readonly requestId: string;
  readonly error: ServiceError;
  /** Nothing of the request's body is left to come. */
  readonly bodyRead: boolean;
  /** Set when the path named a procedure. */
  readonly procedure?: ErrorMediaTypes | undefined;
  /** Further names and values in turns. */
  readonly headers?: readonly string[] | undefined;
}

/**
 * Writes the envelope of a failure (protocol §5), also when the request's body has not been read. Does nothing for a client
 * that is gone: whoever leaves a thousand calls at once would have as many answers written that nobody gets.
 */
export type AnswerFailure = (req: IncomingMessage, res: ServerResponse, failure: Failure) => void;

export const createAnswerFailure =
  (errorBody: ErrorBody): AnswerFailure =>
  (req, res, { requestId, error, bodyRead, procedure, headers = [] }) => {
    if (isGone(res)) return;
    const { http: status } = errorStatus(error.reason);
    const body = errorBody(error, requestId);
    const head = ["Content-Type", errorMediaType(error.reason, req.headers.accept, procedure), ...headers];
    if (status === 401) head.push("WWW-Authenticate", "Bearer");
    if (req.method === "HEAD") {
      res.writeHead(status, [...head, "Content-Length", `${Buffer.byteLength(body)}`]);
      res.end();
    } else if (!bodyRead && hasRemainder(req)) {
      answerEarly(req, res, status, addFields({ "content-length": Buffer.byteLength(body) }, head), body);
    } else {
      if (!bodyRead) swallowSmall(req);
      answer(res, status, head, body);
    }
  };
