import { integer, oneOf, type Variable, type WithDefault } from "./parsers.ts";

interface RatelimitVariables {
  readonly managementRateLimit: Variable<number>;
  readonly ratelimitStoreDown: WithDefault<"allow" | "deny">;
  readonly ratelimitCounters: WithDefault<"documents" | "logs">;
}

/** Variables of rate limits, a part of the one table. */
export const ratelimitVariables: RatelimitVariables = {
  managementRateLimit: {
    name: "MANAGEMENT_RATE_LIMIT",
    byDefault: undefined,
    description:
      "Maximum number of authenticated calls per minute, for all root keys together; no limit when unset. `0` refuses every call, including your own; only the command line still works.",
    parse: integer(0, 1_000_000_000),
  },
  ratelimitStoreDown: {
    name: "RATELIMIT_STORE_DOWN",
    byDefault: "allow",
    description: "Rate limits while the store is away: `allow` admits at most one more limit per node and window, `deny` nothing.",
    parse: oneOf(["allow", "deny"] as const),
  },
  ratelimitCounters: {
    name: "RATELIMIT_COUNTERS",
    byDefault: "documents",
    description:
      "Where rate limits are counted on MongoDB: `documents` keeps one for each counter; `logs` keeps those of windows up to a minute in one log of each node, which takes many identifiers a second better. The same on all nodes: to change it, stop all of them first.",
    parse: oneOf(["documents", "logs"] as const),
  },
};
