import { integer, oneOf, type Variable, type WithDefault } from "./parsers.ts";

interface RatelimitVariables {
  readonly managementRateLimit: Variable<number>;
  readonly ratelimitStoreDown: WithDefault<"allow" | "deny">;
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
};
