import { Code } from "@connectrpc/connect";
import { type ErrorClass, type Reason, reasons } from "../base/errors.ts";

/** Short names of the HTTP statuses of failures: `error.title` (protocol §5). */
const titles = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  412: "Precondition Failed",
  413: "Request Entity Too Large",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  499: "Client Closed Request",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
} as const;

/** How a class of failure is told at the edges. */
export interface ErrorStatus {
  /** The HTTP status on `/v2`, and `http_status` in the details over RPC. */
  readonly http: keyof typeof titles;
  /** Short name of `http`. */
  readonly title: string;
  /** The status code of gRPC, which Connect has, too. */
  readonly code: Code;
}

const row = (http: keyof typeof titles, code: Code): ErrorStatus => ({ http, title: titles[http], code });

/** The one place where statuses and codes are chosen (protocol §9, grpc §3). */
const statuses: Readonly<Record<ErrorClass, ErrorStatus>> = {
  invalid: row(400, Code.InvalidArgument),
  unauthenticated: row(401, Code.Unauthenticated),
  forbidden: row(403, Code.PermissionDenied),
  not_found: row(404, Code.NotFound),
  no_such_procedure: row(404, Code.Unimplemented),
  wrong_method: row(405, Code.Unimplemented),
  timed_out: row(408, Code.DeadlineExceeded),
  already_exists: row(409, Code.AlreadyExists),
  gone: row(410, Code.FailedPrecondition),
  precondition_failed: row(412, Code.FailedPrecondition),
  too_large: row(413, Code.ResourceExhausted),
  too_slow: row(422, Code.DeadlineExceeded),
  too_costly: row(422, Code.InvalidArgument),
  rate_limited: row(429, Code.ResourceExhausted),
  canceled: row(499, Code.Canceled),
  internal: row(500, Code.Internal),
  not_implemented: row(501, Code.Unimplemented),
  unavailable: row(503, Code.Unavailable),
};

/** How a failure is told at the edges, unless its protocol says otherwise (`ProtocolError`). */
export const errorStatus = (reason: Reason): ErrorStatus => statuses[reasons[reason].class];
