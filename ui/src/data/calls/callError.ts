import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema, type Violation } from "../../../../gen/latchkey/v2/errors_pb.ts";

/**
 * How a page reacts to a failed call:
 * `signedOut` sign in again; `elevation` enter the root key again (console §2.4); `forbidden` says which permission is missing;
 * `unavailable` waits and asks again; `changed` the object is not the one that was shown (management §2); `invalid` says so at the
 * fields; `notFound`; `analyticsOff` says how to turn analytics on; `network` no answer at all; `other` shows what the service says.
 */
export type CallErrorKind =
  | "signedOut"
  | "elevation"
  | "forbidden"
  | "unavailable"
  | "changed"
  | "invalid"
  | "notFound"
  | "analyticsOff"
  | "network"
  | "other";

/** A failed call, in the terms of protocol §5 and §9. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly kind: CallErrorKind;
  /** `Forbidden`, `Bad Request`: the short name of the status. */
  readonly title: string;
  /** `req_…`; empty when no answer of the service came. */
  readonly requestId: string;
  /** The address that explains it (protocol §5); empty when no answer of the service came. */
  readonly type: string;
  readonly violations: readonly Violation[];
  /** Seconds to wait before the next attempt, at least 1. */
  readonly retryAfter: number;

  constructor(
    kind: CallErrorKind,
    message: string,
    facts: Partial<Pick<CallError, "title" | "requestId" | "type" | "violations" | "retryAfter">> = {},
  ) {
    super(message);
    this.kind = kind;
    this.title = facts.title ?? "Error";
    this.requestId = facts.requestId ?? "";
    this.type = facts.type ?? "";
    this.violations = facts.violations ?? [];
    this.retryAfter = facts.retryAfter ?? 1;
  }
}

/** Kinds by the end of the error's type (protocol §9), which says more than the status. */
const byType: readonly (readonly [ending: string, kind: CallErrorKind])[] = [
  ["console/elevation_required", "elevation"],
  ["data/precondition_failed", "changed"],
  ["data/analytics_not_configured", "analyticsOff"],
];

const byStatus: Readonly<Record<number, CallErrorKind>> = {
  400: "invalid",
  401: "signedOut",
  403: "forbidden",
  404: "notFound",
  429: "unavailable",
  503: "unavailable",
};

const byCode: Partial<Record<Code, CallErrorKind>> = {
  [Code.Unauthenticated]: "signedOut",
  [Code.PermissionDenied]: "forbidden",
  [Code.Unavailable]: "unavailable",
  [Code.ResourceExhausted]: "unavailable",
  [Code.NotFound]: "notFound",
  [Code.InvalidArgument]: "invalid",
};

/** Seconds of a `Retry-After`; what is no whole number of seconds counts as 1. */
const readRetryAfter = (header: string | null): number => (header !== null && /^[1-9]\d{0,6}$/.test(header) ? Number(header) : 1);

/** No answer came at all. @param retryAfter seconds */
export const noAnswer = (retryAfter = 1): CallError =>
  new CallError("network", "The service does not answer.", { title: "No connection", retryAfter });

/** Reads what a call threw. An abort stays what it is. */
export const readCallError = (thrown: unknown): CallError => {
  if (thrown instanceof CallError) return thrown;
  const error = ConnectError.from(thrown);
  const [detail] = error.findDetails(ErrorDetailSchema);
  const retryAfter = readRetryAfter(error.metadata.get("retry-after"));
  if (detail === undefined) {
    // The transport has no code for "the connection failed": fetch throws a TypeError.
    if (error.cause instanceof TypeError) return noAnswer(retryAfter);
    return new CallError(byCode[error.code] ?? "other", error.rawMessage, { title: Code[error.code] ?? "Error", retryAfter });
  }
  const kind = byType.find(([ending]) => detail.type.endsWith(ending))?.[1] ?? byStatus[detail.httpStatus] ?? "other";
  return new CallError(kind, error.rawMessage, {
    title: detail.title,
    requestId: detail.requestId,
    type: detail.type,
    violations: detail.violations,
    retryAfter,
  });
};
