import type { JsonObject } from "@bufbuild/protobuf";

/** An identifier and how its checks ended. */
export interface BusyIdentifier {
  readonly identifier: string;
  readonly passed: number;
  readonly denied: number;
  /** The sum of the requested costs, denied checks included. */
  readonly tokens: number;
}

const countOf = (value: unknown): number => (typeof value === "number" ? value : 0);

/** Rows of `analytics.getUsage` by identifier and `passed`, as identifiers, those with most checks first. The rest (`other`) is left out. */
export const busiestRows = (rows: readonly JsonObject[]): readonly BusyIdentifier[] => {
  const found = new Map<string, BusyIdentifier>();
  for (const { identifier, passed, count, spentTokens, other } of rows) {
    if (other === true || typeof identifier !== "string") continue;
    const before = found.get(identifier) ?? { identifier, passed: 0, denied: 0, tokens: 0 };
    found.set(identifier, {
      identifier,
      passed: before.passed + (passed === true ? countOf(count) : 0),
      denied: before.denied + (passed === true ? 0 : countOf(count)),
      tokens: before.tokens + countOf(spentTokens),
    });
  }
  const total = ({ passed, denied }: BusyIdentifier): number => passed + denied;
  return [...found.values()].sort((one, other) => total(other) - total(one));
};
