/** Every way in which a call can fail, and how each looks on the wire (protocol §5, §9; grpc §3). */

import type { Degraded } from "./behalf.ts";

export interface Violation {
  /** Path into the request: `body.credits.refill.amount`, `body[1].limit`, `header.Content-Type`. */
  readonly location: string;
  readonly message: string;
  readonly fix?: string;
}

/** gRPC and Connect status codes, spelled as Connect spells them. */
export type RpcCode =
  | "canceled"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated";

export interface Appearance {
  /** Last segments of `error.type`. */
  readonly type: string;
  readonly status: number;
  readonly title: string;
  readonly code: RpcCode;
}

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

const row = (status: keyof typeof titles, type: string, code: RpcCode): Appearance => ({ type, status, title: titles[status], code });

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

export const appearances: Readonly<Record<Reason, Appearance>> = {
  invalid_input: row(400, "unkey/application/invalid_input", "invalid_argument"),
  permissions_query_syntax_error: row(400, "user/bad_request/permissions_query_syntax_error", "invalid_argument"),
  request_body_unreadable: row(400, "user/bad_request/request_body_unreadable", "invalid_argument"),
  request_body_too_large: row(413, "user/bad_request/request_body_too_large", "resource_exhausted"),
  request_timeout: row(408, "user/bad_request/request_timeout", "deadline_exceeded"),
  client_closed_request: row(499, "user/bad_request/client_closed_request", "canceled"),
  workspace_rate_limited: row(429, "user/too_many_requests/workspace_rate_limited", "resource_exhausted"),
  authentication_missing: row(401, "unkey/authentication/missing", "unauthenticated"),
  authentication_malformed: row(401, "unkey/authentication/malformed", "unauthenticated"),
  authentication_key_not_found: row(401, "unkey/authentication/key_not_found", "unauthenticated"),
  authentication_key_disabled: row(401, "unkey/authentication/key_disabled", "unauthenticated"),
  authentication_key_expired: row(401, "unkey/authentication/key_expired", "unauthenticated"),
  insufficient_permissions: row(403, "unkey/authorization/insufficient_permissions", "permission_denied"),
  console_elevation_required: row(403, "unkey/console/elevation_required", "permission_denied"),
  console_request_refused: row(403, "unkey/console/request_refused", "permission_denied"),
  console_session_required: row(401, "unkey/console/session_required", "unauthenticated"),
  console_session_not_found: row(404, "unkey/console/session_not_found", "not_found"),
  console_sign_in_failed: row(401, "unkey/console/sign_in_failed", "unauthenticated"),
  console_sign_ins_limited: row(429, "user/too_many_requests/sign_ins_limited", "resource_exhausted"),
  api_not_found: row(404, "unkey/data/api_not_found", "not_found"),
  key_not_found: row(404, "unkey/data/key_not_found", "not_found"),
  identity_not_found: row(404, "unkey/data/identity_not_found", "not_found"),
  permission_not_found: row(404, "unkey/data/permission_not_found", "not_found"),
  role_not_found: row(404, "unkey/data/role_not_found", "not_found"),
  ratelimit_namespace_not_found: row(404, "unkey/data/ratelimit_namespace_not_found", "not_found"),
  ratelimit_override_not_found: row(404, "unkey/data/ratelimit_override_not_found", "not_found"),
  migration_not_found: row(404, "unkey/data/migration_not_found", "not_found"),
  ratelimit_namespace_gone: row(410, "unkey/data/ratelimit_namespace_gone", "failed_precondition"),
  identity_already_exists: row(409, "unkey/data/identity_already_exists", "already_exists"),
  permission_already_exists: row(409, "unkey/data/permission_already_exists", "already_exists"),
  role_already_exists: row(409, "unkey/data/role_already_exists", "already_exists"),
  precondition_failed: row(412, "unkey/application/precondition_failed", "failed_precondition"),
  revision_differs: row(412, "unkey/data/precondition_failed", "failed_precondition"),
  protected_resource: row(412, "unkey/application/protected_resource", "failed_precondition"),
  analytics_not_configured: row(412, "unkey/data/analytics_not_configured", "failed_precondition"),
  analytics_connection_failed: row(503, "unkey/data/analytics_connection_failed", "unavailable"),
  invalid_analytics_query: row(400, "user/bad_request/invalid_analytics_query", "invalid_argument"),
  invalid_analytics_query_type: row(400, "user/bad_request/invalid_analytics_query_type", "invalid_argument"),
  invalid_analytics_table: row(400, "user/bad_request/invalid_analytics_table", "invalid_argument"),
  invalid_analytics_function: row(400, "user/bad_request/invalid_analytics_function", "invalid_argument"),
  query_range_exceeds_retention: row(400, "user/bad_request/query_range_exceeds_retention", "invalid_argument"),
  query_execution_timeout: row(422, "user/unprocessable_entity/query_execution_timeout", "deadline_exceeded"),
  query_memory_limit_exceeded: row(422, "user/unprocessable_entity/query_memory_limit_exceeded", "invalid_argument"),
  query_rows_limit_exceeded: row(422, "user/unprocessable_entity/query_rows_limit_exceeded", "invalid_argument"),
  query_quota_exceeded: row(429, "user/too_many_requests/query_quota_exceeded", "resource_exhausted"),
  tail_limit_exceeded: row(429, "user/too_many_requests/tail_limit_exceeded", "resource_exhausted"),
  unexpected_error: row(500, "unkey/application/unexpected_error", "internal"),
  service_unavailable: row(503, "unkey/application/service_unavailable", "unavailable"),
  procedure_not_found: row(404, "unkey/application/procedure_not_found", "unimplemented"),
  method_not_allowed: row(405, "unkey/application/method_not_allowed", "unimplemented"),
  not_implemented: row(501, "unkey/application/not_implemented", "unimplemented"),
};

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
