/** The values of the labels of metrics. Markdown. */
export const labelTexts: Readonly<Record<string, string>> = {
  version: "The version of the software.",
  procedure: "A procedure, such as `keys.verifyKey`.",
  outcome:
    "Of calls: `ok`, or the reason of the error, such as `key_not_found`. Of store operations: `ok`, `duplicate_key`, `overloaded`, `unavailable`, `error`.",
  resource: "What callers share: `calls`, `bodies`, `connections`, `streams` and others.",
  code: "A [verification code](verification-codes.md).",
  result: "Of rate limits: `passed`, `denied`. Of caches: `hit`, `miss`. Of events: `written`, `dropped`. Of spans: `exported`, `dropped`.",
  source:
    "Who decided a rate limit: `memory` (budget or a denial that this node holds), `store`, `store_down` (the policy for a store outage).",
  cache: "`verification`, `namespace`, `root_key`.",
  collection: "A collection of the store, such as `keys`; `counters` are those of rate limits.",
  operation: "An operation of the store, such as `findOne`; on counters `read`, `charge`, `refund` and others.",
  engine: "`embedded` or `mongo`.",
  policy: "`RATELIMIT_STORE_DOWN`: `allow` or `deny`.",
  kind: "Of calls: `verify`, `limit`, `read`, `change`, `analytics`; `none` where the address names no procedure. Of sweeps, what was removed: `keys`, `identities` or `references`.",
  node: "The version of Node.js.",
  edge: "The protocol of a call: `v2`, `grpc`, `grpc-web`, `connect` or `console`.",
  status: "The class of the HTTP status: `2xx`, `4xx` or `5xx`.",
  what: "What may lack recent changes in an answer given without the store: `verification` or `ratelimits`.",
  lease: "A job that one node does for all: `audit`, `sweep` or `backfill`.",
  file: "Of the embedded store: `database`, `wal` (its log), `counters` (of rate limits).",
  state: "Of connections to MongoDB: `open`, or `in_use`. Of workers: `wanted`, or `ready`.",
  within: "A time from now, such as `7d`.",
  table: "A table of events.",
  port: "`service` or `admin`.",
  files: "Watched files: `service_tls`, `admin_tls` or `admin_token`.",
  reason:
    "Of files: `unreadable`, `malformed` or `key_mismatch`. Of clients' certificates: `no_certificate`, `untrusted`, `expired`, or `name` (none that is allowed).",
};
