import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { isServiceFault, type Reason, reasons } from "../../src/platform/base/errors.ts";
import { errorStatus } from "../../src/platform/http/errorStatus.ts";

const all = Object.keys(reasons) as Reason[];

/** The table of grpc §3, one reason for each row of it. */
const rows: readonly (readonly [Reason, number, keyof typeof Code])[] = [
  ["invalid_input", 400, "InvalidArgument"],
  ["query_rows_limit_exceeded", 422, "InvalidArgument"],
  ["query_memory_limit_exceeded", 422, "InvalidArgument"],
  ["authentication_missing", 401, "Unauthenticated"],
  ["insufficient_permissions", 403, "PermissionDenied"],
  ["key_not_found", 404, "NotFound"],
  ["procedure_not_found", 404, "Unimplemented"],
  ["method_not_allowed", 405, "Unimplemented"],
  ["not_implemented", 501, "Unimplemented"],
  ["request_timeout", 408, "DeadlineExceeded"],
  ["query_execution_timeout", 422, "DeadlineExceeded"],
  ["role_already_exists", 409, "AlreadyExists"],
  ["ratelimit_namespace_gone", 410, "FailedPrecondition"],
  ["revision_differs", 412, "FailedPrecondition"],
  ["request_body_too_large", 413, "ResourceExhausted"],
  ["workspace_rate_limited", 429, "ResourceExhausted"],
  ["client_closed_request", 499, "Canceled"],
  ["unexpected_error", 500, "Internal"],
  ["service_unavailable", 503, "Unavailable"],
];

test.each(rows)("[grpc §3] %s is %i on /v2 and %s over RPC", (reason, http, code) => {
  const status = errorStatus(reason);
  expect([status.http, Code[status.code]]).toEqual([http, code]);
});

test("[grpc §3] every status of a failure is one of the table's", () => {
  const known = new Set(rows.map(([, http, code]) => `${http} ${code}`));
  expect(all.filter((reason) => !known.has(`${errorStatus(reason).http} ${Code[errorStatus(reason).code]}`))).toEqual([]);
});

test("[protocol §9] the service is to blame for what is answered with 5xx, and for nothing else", () => {
  expect(all.filter((reason) => isServiceFault(reason) !== errorStatus(reason).http >= 500)).toEqual([]);
});

test("[protocol §9] no two failures have the same type", () => {
  expect(new Set(Object.values(reasons).map(({ type }) => type)).size).toBe(all.length);
});
