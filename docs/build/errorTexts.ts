import type { Reason } from "../../src/platform/base/errors.ts";

/** What a page says of an error. Markdown. */
export interface ErrorText {
  /** One sentence. */
  readonly meaning: string;
  readonly cause: string;
  readonly fix: string;
  /** Where it comes from when that is no procedure of `/v2`. */
  readonly where?: string;
}

const analyticsSql = "[Analytics](../analytics.md#what-a-query-may-do) says what a query may contain.";
const narrower = "Ask for a shorter range of `time`, filter by an id, or use an aggregate table (`…_per_hour_v1`, `…_per_day_v1`).";
const callAgain =
  "Call again with a growing pause. Send an `Idempotency-Key` with calls that change something, so that a repeat changes nothing twice.";

/** Every error, with its cause and how to fix it. Links start from the folder `docs/reference`. */
export const errorTexts: Readonly<Record<Reason, ErrorText>> = {
  invalid_input: {
    meaning: "The request does not have the form that the procedure takes.",
    cause:
      "A field is missing, unknown, of the wrong type or out of its bounds; the body is not JSON; a header is malformed; or fields contradict each other. `error.errors` has one entry for each violation.",
    fix: "Read `location`, `message` and `fix` of each entry: all violations of a body are reported at once.",
  },
  permissions_query_syntax_error: {
    meaning: "The permission query cannot be parsed.",
    cause: "An operand or operator is missing, parentheses do not match, or a character is not allowed. The detail names the position.",
    fix: "Join permissions with `AND` and `OR`, and group them with parentheses: `documents.read AND (documents.write OR admin)`.",
  },
  request_body_unreadable: {
    meaning: "The request's body could not be read to its end.",
    cause: "The connection broke, the chunked encoding was malformed, or the body was shorter than its `Content-Length`.",
    fix: "Send the request again. If it happens each time, look at the proxy in between.",
  },
  request_body_too_large: {
    meaning: "The request's body is larger than the service accepts.",
    cause: "The body exceeds `MAX_BODY_BYTES`, 10 MiB by default; over gRPC and Connect before or after decompression.",
    fix: "Send less at once, for example fewer keys in each `keys.migrateKeys`, or ask the operator to raise `MAX_BODY_BYTES`.",
  },
  request_timeout: {
    meaning: "The call did not end in time.",
    cause: "The call's deadline passed: the caller's own, or 60 seconds. Or the body took too long to arrive.",
    fix: callAgain,
  },
  client_closed_request: {
    meaning: "The caller disconnected before the answer.",
    cause: "The connection was closed or the call was cancelled. Only logs and metrics show this error.",
    fix: "Nothing, unless it is frequent: then raise the timeout of your client.",
  },
  workspace_rate_limited: {
    meaning: "Too many calls were made within a minute.",
    cause: "The operator set `MANAGEMENT_RATE_LIMIT`, and all root keys together are over it.",
    fix: "Wait for the number of seconds in the header `Retry-After`, then call again.",
  },
  authentication_missing: {
    meaning: "The request has no credentials.",
    cause: "The header `Authorization` is missing or empty.",
    fix: "Send `Authorization: Bearer <root key>`.",
  },
  authentication_malformed: {
    meaning: "The header `Authorization` cannot be read.",
    cause: "Its scheme is not `Bearer`, or no root key follows it.",
    fix: "Send `Authorization: Bearer <root key>`, with one space between the two.",
  },
  authentication_key_not_found: {
    meaning: "The root key is unknown.",
    cause: "It was mistyped or deleted, it belongs to another deployment, or it is an API key: API keys cannot call procedures.",
    fix: "Use a root key (`lkr_…`) of this deployment. `latchkey root-key list` lists root keys, `latchkey root-key create` creates one.",
  },
  authentication_key_disabled: {
    meaning: "The root key is disabled.",
    cause: "It was revoked with `rootKeys.updateKey`, the console or the command line.",
    fix: "Use another root key, or enable it again: `latchkey root-key update ID --enable`.",
  },
  authentication_key_expired: {
    meaning: "The root key has expired.",
    cause: "Its `expires` has passed, or it was rerolled and its grace period is over.",
    fix: "Use the root key that replaced it, or create a new one.",
  },
  insufficient_permissions: {
    meaning: "The root key may not do this.",
    cause: "It lacks a permission, which the detail names. Or it would grant more than it holds, or a root key that outlives it.",
    fix: "Give the root key the permission that the detail names (`rootKeys.updateKey`), or use another root key. [Root-key permissions](../reference/root-key-permissions.md) explains each permission.",
  },
  console_elevation_required: {
    meaning: "The session must enter its root key again for this.",
    cause: "Changing root keys, decrypting a key, exporting, and deleting an API or namespace need the root key within the last 5 minutes.",
    fix: "Enter the root key of your session again.",
    where: "the console",
  },
  console_request_refused: {
    meaning: "The request does not come from a page of the console, or its connection may not carry a session.",
    cause:
      "The page was opened under an address that the service does not know as its own, another site sent the request, or it came over plain HTTP from another machine.",
    fix: "Set `PUBLIC_URL` to the address at which people open the console, and `TLS_CERT` and `TLS_KEY`, or `TRUSTED_PROXIES` with `X-Forwarded-Proto`.",
    where: "the console",
  },
  console_session_required: {
    meaning: "There is no session, or it has ended.",
    cause: "It was not used for `CONSOLE_IDLE_MINUTES`, is older than `CONSOLE_SESSION_HOURS`, or its root key may not sign in any more.",
    fix: "Sign in again.",
    where: "the console",
  },
  console_session_not_found: {
    meaning: "The session to end does not exist.",
    cause: "It has ended already, or belongs to another root key.",
    fix: "Nothing: reload the list of sessions.",
    where: "the console",
  },
  console_sign_in_failed: {
    meaning: "The root key does not open a session.",
    cause: "It is unknown, disabled or expired, or lacks the permission `console.*.sign_in`. The answer is the same for all of these.",
    fix: "Use a root key that holds `console.*.sign_in`.",
    where: "the console",
  },
  console_sign_ins_limited: {
    meaning: "Too many sign-ins from this address failed.",
    cause: "Ten sign-ins from one address (IPv6: one /64 network) failed within a minute.",
    fix: "Wait for the number of seconds in the header `Retry-After`.",
    where: "the console",
  },
  api_not_found: {
    meaning: "The API does not exist.",
    cause: "The id is wrong, or the API was deleted.",
    fix: "Look the id up with [apis.listApis](../reference/apis.listApis.md).",
  },
  key_not_found: {
    meaning: "The key does not exist.",
    cause: "The id or secret is wrong, the key was deleted, or its API was. For `rootKeys.*` it means the root key.",
    fix: "Send the id (`key_…`, `rk_…`), not the secret. [keys.searchKeys](../reference/keys.searchKeys.md) finds keys, [rootKeys.listKeys](../reference/rootKeys.listKeys.md) root keys.",
  },
  identity_not_found: {
    meaning: "The identity does not exist.",
    cause: "No identity has this id or external id (letter case counts), or the identity was deleted.",
    fix: "Look it up with [identities.listIdentities](../reference/identities.listIdentities.md), or create it.",
  },
  permission_not_found: {
    meaning: "The permission does not exist.",
    cause: "No permission has this id or slug, or it was deleted.",
    fix: "Look it up with [permissions.listPermissions](../reference/permissions.listPermissions.md), or create it.",
  },
  role_not_found: {
    meaning: "The role does not exist.",
    cause: "No role has this name or id. Keys name roles by their exact name, where letter case counts.",
    fix: "Look it up with [permissions.listRoles](../reference/permissions.listRoles.md), or create it.",
  },
  ratelimit_namespace_not_found: {
    meaning: "The rate limit namespace does not exist.",
    cause: "No namespace has this id or name, or it was deleted. Only checks of limits create namespaces.",
    fix: "Look it up with [ratelimit.listNamespaces](../reference/ratelimit.listNamespaces.md), or check a limit in it once.",
  },
  ratelimit_override_not_found: {
    meaning: "The override does not exist.",
    cause: "No override of the namespace was set with exactly this identifier. A pattern is found by its own text only.",
    fix: "Send the exact text of the override, stars included. [ratelimit.listOverrides](../reference/ratelimit.listOverrides.md) shows them.",
  },
  migration_not_found: {
    meaning: "The migration does not exist.",
    cause: "The id is wrong, or the migration was deleted.",
    fix: "Look it up with [migrations.listMigrations](../reference/migrations.listMigrations.md), or create it.",
  },
  ratelimit_namespace_gone: {
    meaning: "The rate limit namespace was deleted.",
    cause: "Its name stays taken, so that checks do not silently start again without overrides.",
    fix: "Use another name.",
  },
  identity_already_exists: {
    meaning: "There is an identity with this external id.",
    cause: "An external id is unique among the identities that are not deleted. Creating a key with it creates the identity, too.",
    fix: "Change the existing one with [identities.updateIdentity](../reference/identities.updateIdentity.md).",
  },
  permission_already_exists: {
    meaning: "There is a permission with this slug.",
    cause: "Slugs are unique regardless of letter case. Giving a key a new slug creates the permission, too.",
    fix: "Use the existing permission, or another slug.",
  },
  role_already_exists: {
    meaning: "There is a role with this name.",
    cause: "Names of roles are unique regardless of letter case.",
    fix: "Use the existing role, or another name.",
  },
  precondition_failed: {
    meaning: "The service or the key is not set up for this call.",
    cause:
      "A verification names a rate limit that neither the key nor its identity has. Or `recoverable` or `decrypt` was asked for and the service has no `ENCRYPTION_KEYS`.",
    fix: "Define the limit on the key or the identity, or send `limit` and `duration` with its name. For recoverable keys, ask the operator to set `ENCRYPTION_KEYS`.",
  },
  revision_differs: {
    meaning: "The object was changed since it was read.",
    cause: "The header `If-Match` does not match the current revision. Nothing was changed.",
    fix: "Read the object again, decide again, and send the new `ETag` as `If-Match`.",
  },
  protected_resource: {
    meaning: "The API is protected from deletion.",
    cause: "Its `deleteProtection` is on.",
    fix: "Turn it off with [apis.updateApi](../reference/apis.updateApi.md), then delete the API.",
  },
  analytics_not_configured: {
    meaning: "This deployment keeps no events.",
    cause:
      "`ANALYTICS` is `off`, `MONGODB_URL` is set without `CLICKHOUSE_URL`, or the optional package `chdb` is not installed. The detail says which.",
    fix: "Ask the operator to set `CLICKHOUSE_URL`, or for one node `ANALYTICS=embedded` after `npm ci` without `--omit=optional`.",
  },
  analytics_connection_failed: {
    meaning: "The analytics store does not answer.",
    cause: "The ClickHouse server is down or refuses the service, or the embedded engine is restarting.",
    fix: "Call again later. Verifications and rate limits work without it.",
  },
  invalid_analytics_query: {
    meaning: "The SQL query cannot be run.",
    cause:
      "It is empty, has a syntax error, no `FROM` or several statements, names an unknown column, compares different types, or is too large.",
    fix: `Fix the problem that the detail names. ${analyticsSql}`,
  },
  invalid_analytics_query_type: {
    meaning: "The statement is not a `SELECT`.",
    cause: "Events can be read only.",
    fix: "Send one `SELECT` statement.",
  },
  invalid_analytics_table: {
    meaning: "The query names a table that this procedure does not offer.",
    cause: "Each procedure has its own five tables; the detail names the wrong one.",
    fix: "Use a table of the procedure that you call: [Analytics](../analytics.md#ask-in-sql) lists them.",
  },
  invalid_analytics_function: {
    meaning: "The query uses a function that is not allowed.",
    cause: "Only listed functions may run; the detail names the other one.",
    fix: analyticsSql,
  },
  query_range_exceeds_retention: {
    meaning: "The query asks for events older than queries can see.",
    cause:
      "The lower bound of `time`, or `start`, lies before the retention (`ANALYTICS_RETENTION_DAYS`). The detail names the earliest date.",
    fix: "Ask for a later start.",
  },
  query_execution_timeout: {
    meaning: "The query ran too long.",
    cause: "It exceeded `ANALYTICS_QUERY_SECONDS`.",
    fix: narrower,
  },
  query_memory_limit_exceeded: {
    meaning: "The query needs too much memory, or its answer is too large.",
    cause: "It exceeded the engine's memory limit, or the answer 4 MiB.",
    fix: narrower,
  },
  query_rows_limit_exceeded: {
    meaning: "The query reads too many rows.",
    cause: "It exceeded `ANALYTICS_QUERY_ROWS`.",
    fix: narrower,
  },
  query_quota_exceeded: {
    meaning: "The hourly quota of SQL queries is used up.",
    cause: "All root keys together made `ANALYTICS_QUERIES_PER_HOUR` queries, or had them run `ANALYTICS_SECONDS_PER_HOUR` seconds.",
    fix: "Wait for the next hour ([analytics.getQuota](../reference/analytics.getQuota.md) says when), or use [analytics.getUsage](../reference/analytics.getUsage.md), which does not count.",
  },
  tail_limit_exceeded: {
    meaning: "Too many calls of `analytics.tail` wait for events.",
    cause: "Ten calls of one root key, or a hundred of one node, are waiting.",
    fix: "End some of them, or ask without `waitMs`.",
  },
  unexpected_error: {
    meaning: "Something went wrong that is not the caller's fault.",
    cause: "The log has the cause, under the request id of the answer.",
    fix: `${callAgain} If it persists, give the operator the request id.`,
  },
  service_unavailable: {
    meaning: "The service cannot answer at the moment.",
    cause: "The store is down or slow, the node is starting or stopping, or it has too many calls in flight.",
    fix: callAgain,
  },
  procedure_not_found: {
    meaning: "There is no procedure at this address.",
    cause: "The path is misspelled. Paths are matched exactly: letter case counts, and nothing may follow.",
    fix: "Send `POST /v2/<namespace>.<procedure>`; the [reference](../reference/README.md) lists all.",
    where: "any other address",
  },
  method_not_allowed: {
    meaning: "Procedures are called with `POST` only.",
    cause: "The request has another HTTP method.",
    fix: "Send `POST`, with the parameters as JSON in the body.",
    where: "any procedure's address",
  },
  not_implemented: {
    meaning: "The form of the call is not supported.",
    cause: "Over gRPC or Connect: a compression other than gzip, or a stream with no message or several.",
    fix: "Send one message, uncompressed or with gzip.",
    where: "gRPC and Connect",
  },
};
