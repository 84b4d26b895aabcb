/** The values of the labels of metrics. Markdown. */
export const labelTexts: Readonly<Record<string, string>> = {
  version: "The version of the software.",
  procedure: "A procedure, such as `keys.verifyKey`.",
  outcome:
    "Of calls: `ok`, or the reason of the error, such as `key_not_found`. Of store operations: `ok`, `duplicate_key`, `overloaded`, `unavailable`, `error`.",
  resource: "What callers share: `calls`, `bodies`, `connections`, `streams` and others.",
  code: "A [verification code](verification-codes.md).",
  result: "Of rate limits: `passed`, `denied`. Of caches: `hit`, `miss`. Of events: `written`, `dropped`.",
  source:
    "Who decided a rate limit: `memory` (budget or a denial that this node holds), `store`, `store_down` (the rule for a store that is away).",
  cache: "`verification`, `namespace`, `root_key`.",
  collection: "A collection of the store, such as `keys`; `counters` are those of rate limits.",
  operation: "An operation of the store, such as `findOne`; on counters `read`, `charge`, `refund` and others.",
  engine: "`embedded` or `mongo`.",
  policy: "`RATELIMIT_STORE_DOWN`: `allow` or `deny`.",
  kind: "What was removed: `keys`, `identities` or `references`.",
  table: "A table of events.",
};
