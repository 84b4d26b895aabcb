/** A table that a query may read. */
export interface EventTable {
  readonly name: string;
  readonly columns: readonly string[];
}

const steps = ["minute", "hour", "day", "month"] as const;

const family = (name: string, raw: readonly string[], aggregate: readonly string[]): readonly EventTable[] => [
  { name: `${name}_v1`, columns: raw },
  ...steps.map((step) => ({ name: `${name}_per_${step}_v1`, columns: ["time", ...aggregate] })),
];

const ofKeys = ["workspace_id", "key_space_id", "identity_id", "external_id", "key_id"];

/** Tables of `analytics.getVerifications` (analytics §4). */
export const verificationTables: readonly EventTable[] = family(
  "key_verifications",
  ["request_id", "time", ...ofKeys, "region", "source", "app_id", "outcome", "tags", "spent_credits", "latency"],
  [...ofKeys, "outcome", "source", "app_id", "tags", "count", "spent_credits"],
);

/** Tables of `analytics.getRatelimits` (analytics §5). */
export const ratelimitTables: readonly EventTable[] = family(
  "ratelimits",
  [
    ...["request_id", "time", "workspace_id", "namespace_id", "identifier", "passed", "latency", "override_id"],
    ...["limit", "remaining", "reset_at", "tokens"],
  ],
  ["workspace_id", "namespace_id", "identifier", "passed", "total", "total_tokens", "passed_tokens"],
);

/** The tables that a query names. */
export const tablesIn = (query: string): readonly EventTable[] => {
  const words = new Set(query.match(/\w+/g));
  return [...verificationTables, ...ratelimitTables].filter(({ name }) => words.has(name));
};

/** Whether the tables that a query names are those of rate limit checks: they have a procedure of their own. */
export const asksForRatelimits = (query: string): boolean => tablesIn(query)[0]?.name.startsWith("ratelimits") ?? false;
