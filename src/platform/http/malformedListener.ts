import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { invalidInput, ServiceError } from "../base/errors.ts";
import type { Guarded } from "./connectionGuard.ts";
import type { ErrorBody } from "./errorBody.ts";
import { errorStatus } from "./errorStatus.ts";
import { lingerTimeout, maxHeaderBytes, requestTimeout } from "./limits.ts";

/** What is remembered of a connection: the latest request on it, and whether it is being given up. */
export interface Connection extends Socket, Guarded {
  latest?: ServerResponse<IncomingMessage>;
  /** Requests on it that wait for the answers of those before them. */
  pipelined?: number;
  /** Set once the connection was handed to a protocol; before, nothing may be written in the name of one. */
  established?: boolean;
  broken?: boolean;
  /** Monotonic ms from which on the next answer is its last. */
  leavesAt?: number | undefined;
}

const unreadableRequest = (code: string | undefined): ServiceError => {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ServiceError("request_timeout", `The request was not complete within ${requestTimeout / 1000} seconds.`);
  const message =
    code === "HPE_HEADER_OVERFLOW"
      ? `request line and headers exceed ${maxHeaderBytes} bytes`
      : "this is not an HTTP/1.1 or HTTP/2 request";
  return invalidInput("The request could not be read as HTTP.", [{ location: "header", message, fix: "Send a well-formed HTTP request." }]);
};

const unreadableBody = (code: string | undefined): ServiceError =>
  code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? unreadableRequest(code)
    : new ServiceError("request_body_unreadable", "The request body broke off or is not framed as its headers say.");

/** Says the last word on a connection, then swallows what still arrives so that the other end gets to read it. */
const endWith = (socket: Connection, text: string): void => {
  socket.end(text);
  const timer = setTimeout(() => socket.destroy(), lingerTimeout).unref();
  socket.once("close", () => clearTimeout(timer));
};

/**
 * Listener for `clientError`: input that is not HTTP, too large a header, a broken or late body. It ends this
 * connection only. The answer is an envelope (400 `invalid_input`, 400 `request_body_unreadable`, 408
 * `request_timeout`) unless an answer was already on its way; a call that runs on a connection with garbage behind it
 * may finish first.
 * @param headers of these answers, beside those of every envelope.
 */
export const createMalformedListener = (
  errorBody: ErrorBody,
  createRequestId: () => string,
  headers: Readonly<Record<string, string>> = {},
): ((error: NodeJS.ErrnoException, socket: Connection) => void) => {
  const more = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  const answer = (error: ServiceError): string => {
    const body = errorBody(error, createRequestId());
    const { http, title } = errorStatus(error.reason);
    return `HTTP/1.1 ${http} ${title}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}Connection: close\r\n\r\n${body}`;
  };
  return (error, socket) => {
    // The parser reports every further chunk of what it could not read.
    if (socket.broken) return;
    socket.broken = true;
    if (!socket.established || !socket.writable || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    const { latest } = socket;
    if (latest === undefined || (latest.writableEnded && latest.req.complete)) endWith(socket, answer(unreadableRequest(error.code)));
    else if (latest.headersSent) socket.destroySoon();
    else if (!latest.req.complete) endWith(socket, answer(unreadableBody(error.code)));
    else {
      latest.shouldKeepAlive = false;
      latest.once("close", () => socket.destroySoon());
    }
  };
};
