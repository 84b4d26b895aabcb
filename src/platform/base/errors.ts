/** Every way in which a call can fail (protocol §9). */

import type { Degraded } from "./behalf.ts";

export interface Violation {
  /** Path into the request: `body.credits.refill.amount`, `body[1].limit`, `header.Content-Type`. */
  readonly location: string;
  readonly message: string;
  readonly fix?: string;
}

/** What a failure means to the caller. Which HTTP status and which RPC code that is, is chosen in `src/platform/http/errorStatus.ts`. */
export type ErrorClass =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  /** No object of the caller's, but the address of the call. */
  | "no_such_procedure"
  | "wrong_method"
  | "timed_out"
  | "canceled"
  | "already_exists"
  | "gone"
  | "precondition_failed"
  | "too_large"
  /** A query that was begun and took too long. */
  | "too_slow"
  /** A query that was begun and needed too much. */
  | "too_costly"
  | "rate_limited"
  | "internal"
  | "not_implemented"
  | "unavailable";

export type Reason =
  | "invalid_input"
  | "permissions_query_syntax_error"
  | "request_body_unreadable"
  | "request_body_too_large"
  | "request_timeout"
  | "client_closed_request"
  | "workspace_rate_limited"
  | "authentication_missing"
  | "authentication_malformed"
  | "authentication_key_not_found"
  | "authentication_key_disabled"
  | "authentication_key_expired"
  | "insufficient_permissions"
  | "console_elevation_required"
  | "console_request_refused"
  | "console_session_required"
  | "console_session_not_found"
  | "console_sign_in_failed"
  | "console_sign_ins_limited"
  | "api_not_found"
  | "key_not_found"
  | "identity_not_found"
  | "permission_not_found"
  | "role_not_found"
  | "ratelimit_namespace_not_found"
  | "ratelimit_override_not_found"
  | "migration_not_found"
  | "ratelimit_namespace_gone"
  | "identity_already_exists"
  | "permission_already_exists"
  | "role_already_exists"
  | "precondition_failed"
  | "revision_differs"
  | "protected_resource"
  | "analytics_not_configured"
  | "analytics_connection_failed"
  | "invalid_analytics_query"
  | "invalid_analytics_query_type"
  | "invalid_analytics_table"
  | "invalid_analytics_function"
  | "query_range_exceeds_retention"
  | "query_execution_timeout"
  | "query_memory_limit_exceeded"
  | "query_rows_limit_exceeded"
  | "query_quota_exceeded"
  | "tail_limit_exceeded"
  | "unexpected_error"
  | "service_unavailable"
  | "procedure_not_found"
  | "method_not_allowed"
  | "not_implemented";

/** What is told of a reason beside the words of each failure. */
export interface ReasonFacts {
  readonly class: ErrorClass;
  /** Last segments of `error.type`, which clients match on (protocol §5). */
  readonly type: string;
}

export const reasons: Readonly<Record<Reason, ReasonFacts>> = {
  invalid_input: { class: "invalid", type: "unkey/application/invalid_input" },
  permissions_query_syntax_error: { class: "invalid", type: "user/bad_request/permissions_query_syntax_error" },
  request_body_unreadable: { class: "invalid", type: "user/bad_request/request_body_unreadable" },
  request_body_too_large: { class: "too_large", type: "user/bad_request/request_body_too_large" },
  request_timeout: { class: "timed_out", type: "user/bad_request/request_timeout" },
  client_closed_request: { class: "canceled", type: "user/bad_request/client_closed_request" },
  workspace_rate_limited: { class: "rate_limited", type: "user/too_many_requests/workspace_rate_limited" },
  authentication_missing: { class: "unauthenticated", type: "unkey/authentication/missing" },
  authentication_malformed: { class: "unauthenticated", type: "unkey/authentication/malformed" },
  authentication_key_not_found: { class: "unauthenticated", type: "unkey/authentication/key_not_found" },
  authentication_key_disabled: { class: "unauthenticated", type: "unkey/authentication/key_disabled" },
  authentication_key_expired: { class: "unauthenticated", type: "unkey/authentication/key_expired" },
  insufficient_permissions: { class: "forbidden", type: "unkey/authorization/insufficient_permissions" },
  console_elevation_required: { class: "forbidden", type: "unkey/console/elevation_required" },
  console_request_refused: { class: "forbidden", type: "unkey/console/request_refused" },
  console_session_required: { class: "unauthenticated", type: "unkey/console/session_required" },
  console_session_not_found: { class: "not_found", type: "unkey/console/session_not_found" },
  console_sign_in_failed: { class: "unauthenticated", type: "unkey/console/sign_in_failed" },
  console_sign_ins_limited: { class: "rate_limited", type: "user/too_many_requests/sign_ins_limited" },
  api_not_found: { class: "not_found", type: "unkey/data/api_not_found" },
  key_not_found: { class: "not_found", type: "unkey/data/key_not_found" },
  identity_not_found: { class: "not_found", type: "unkey/data/identity_not_found" },
  permission_not_found: { class: "not_found", type: "unkey/data/permission_not_found" },
  role_not_found: { class: "not_found", type: "unkey/data/role_not_found" },
  ratelimit_namespace_not_found: { class: "not_found", type: "unkey/data/ratelimit_namespace_not_found" },
  ratelimit_override_not_found: { class: "not_found", type: "unkey/data/ratelimit_override_not_found" },
  migration_not_found: { class: "not_found", type: "unkey/data/migration_not_found" },
  ratelimit_namespace_gone: { class: "gone", type: "unkey/data/ratelimit_namespace_gone" },
  identity_already_exists: { class: "already_exists", type: "unkey/data/identity_already_exists" },
  permission_already_exists: { class: "already_exists", type: "unkey/data/permission_already_exists" },
  role_already_exists: { class: "already_exists", type: "unkey/data/role_already_exists" },
  precondition_failed: { class: "precondition_failed", type: "unkey/application/precondition_failed" },
  revision_differs: { class: "precondition_failed", type: "unkey/data/precondition_failed" },
  protected_resource: { class: "precondition_failed", type: "unkey/application/protected_resource" },
  analytics_not_configured: { class: "precondition_failed", type: "unkey/data/analytics_not_configured" },
  analytics_connection_failed: { class: "unavailable", type: "unkey/data/analytics_connection_failed" },
  invalid_analytics_query: { class: "invalid", type: "user/bad_request/invalid_analytics_query" },
  invalid_analytics_query_type: { class: "invalid", type: "user/bad_request/invalid_analytics_query_type" },
  invalid_analytics_table: { class: "invalid", type: "user/bad_request/invalid_analytics_table" },
  invalid_analytics_function: { class: "invalid", type: "user/bad_request/invalid_analytics_function" },
  query_range_exceeds_retention: { class: "invalid", type: "user/bad_request/query_range_exceeds_retention" },
  query_execution_timeout: { class: "too_slow", type: "user/unprocessable_entity/query_execution_timeout" },
  query_memory_limit_exceeded: { class: "too_costly", type: "user/unprocessable_entity/query_memory_limit_exceeded" },
  query_rows_limit_exceeded: { class: "too_costly", type: "user/unprocessable_entity/query_rows_limit_exceeded" },
  query_quota_exceeded: { class: "rate_limited", type: "user/too_many_requests/query_quota_exceeded" },
  tail_limit_exceeded: { class: "rate_limited", type: "user/too_many_requests/tail_limit_exceeded" },
  unexpected_error: { class: "internal", type: "unkey/application/unexpected_error" },
  service_unavailable: { class: "unavailable", type: "unkey/application/service_unavailable" },
  procedure_not_found: { class: "no_such_procedure", type: "unkey/application/procedure_not_found" },
  method_not_allowed: { class: "wrong_method", type: "unkey/application/method_not_allowed" },
  not_implemented: { class: "not_implemented", type: "unkey/application/not_implemented" },
};

/** Classes for which the service or its store is to blame, not the call. */
const serviceFaults: ReadonlySet<ErrorClass> = new Set<ErrorClass>(["internal", "not_implemented", "unavailable"]);

/** Whether the service or its store is to blame, not the call: on `/v2` every 5xx. */
export const isServiceFault = (reason: Reason): boolean => serviceFaults.has(reasons[reason].class);

/**
 * The one error that procedures throw. `detail` is shown to the caller: it names the field, permission or object,
 * and never a secret, a presented credential or an internal fact. The cause stays in the log.
 */
export class ServiceError extends Error {
  readonly reason: Reason;
  readonly violations: readonly Violation[];
  /** What `meta.degraded` says of the call that failed. */
  degraded: readonly Degraded[] | undefined;
  constructor(reason: Reason, detail: string, options?: ErrorOptions & { violations?: readonly Violation[] }) {
    super(detail, options);
    this.name = "ServiceError";
    this.reason = reason;
    this.violations = options?.violations ?? [];
  }
}

/** A 400 `invalid_input` with one entry per violation. */
export const invalidInput = (detail: string, violations: readonly Violation[]): ServiceError =>
  new ServiceError("invalid_input", detail, { violations });
