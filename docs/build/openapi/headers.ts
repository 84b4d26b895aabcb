/** Headers of answers by name. */
export const headers = {
  ETag: {
    description: "Revision of the object, for `If-Match`.",
    schema: { type: "string" },
  },
  "Cache-Control": {
    description: "`no-store`: the answer may hold a secret.",
    schema: { type: "string", const: "no-store" },
  },
  "Idempotency-Replayed": {
    description: "`true` when an earlier call with the same `Idempotency-Key` did the work; else absent.",
    schema: { type: "string", const: "true" },
  },
  "Retry-After": {
    description: "Seconds until the call may succeed.",
    schema: { type: "integer" },
  },
  "WWW-Authenticate": {
    description: "`Bearer`.",
    schema: { type: "string", const: "Bearer" },
  },
  "RateLimit-Limit": {
    description: "Calls per minute of all root keys together. Present while the operator limits them, on every answer.",
    schema: { type: "integer" },
  },
  "RateLimit-Remaining": {
    description: "Calls left in this minute.",
    schema: { type: "integer" },
  },
  "RateLimit-Reset": {
    description: "Seconds until the minute ends.",
    schema: { type: "integer" },
  },
} as const;

type HeaderName = keyof typeof headers;

export const headerRef = (...names: readonly HeaderName[]): object =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Headers of requests. */
export const parameters = {
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "Makes the call safe to repeat: for 24 hours the same key, procedure and body give the same answer, and nothing is done again. Use a random UUID for each request.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
  },
  "If-Match": {
    name: "If-Match",
    in: "header",
    required: false,
    description: "`ETag` of the object as it was read, or `*`. If the object has changed since, the answer is 412 and nothing is changed.",
    schema: { type: "string" },
  },
} as const;

export const parameterRef = (name: keyof typeof parameters): object => ({ $ref: `#/components/parameters/${name}` });
