import { type Dataset, ratelimits, verifications } from "../tables/schema.ts";

export type Granularity = "minute" | "hour" | "day" | "month" | "total";

/** What events can be grouped and filtered by (management §6). */
export type UsageField = "outcome" | "apiId" | "keyId" | "identityId" | "externalId" | "tag" | "namespaceId" | "identifier" | "passed";

/** How many events there were, by time and group. */
export interface UsageQuestion {
  readonly kind: "verifications" | "ratelimits";
  /** Unix ms, inclusive. */
  readonly start: number;
  /** Unix ms, exclusive; later than `start`. */
  readonly end: number;
  readonly granularity: Granularity;
  /** Each at most once, and all of them of the kind. */
  readonly groupBy: readonly UsageField[];
  /** Of each field one of the values; an empty list lets nothing pass. */
  readonly filter: Readonly<Partial<Record<UsageField, readonly (string | boolean)[]>>>;
  readonly orderBy: "time" | "count";
  /** Groups, 1–1000; the others are one more. */
  readonly limit: number;
}

/** What the kinds of events differ in. */
export interface UsageKind {
  readonly dataset: Dataset;
  /** Columns by field; `tag` is one of several values, and `passed` a sum in the aggregates. */
  readonly columns: Readonly<Partial<Record<UsageField, string>>>;
  /** Field that the scope of a root key goes by. */
  readonly scopeField: UsageField;
  /** Name of what was spent. */
  readonly spent: "spentCredits" | "spentTokens";
  readonly hasLatency: boolean;
}

export const usageKinds: Readonly<Record<UsageQuestion["kind"], UsageKind>> = {
  verifications: {
    dataset: verifications,
    columns: {
      outcome: "outcome",
      apiId: "key_space_id",
      keyId: "key_id",
      identityId: "identity_id",
      externalId: "external_id",
      tag: "tags",
    },
    scopeField: "apiId",
    spent: "spentCredits",
    hasLatency: true,
  },
  ratelimits: {
    dataset: ratelimits,
    columns: { namespaceId: "namespace_id", identifier: "identifier", passed: "passed" },
    scopeField: "namespaceId",
    spent: "spentTokens",
    hasLatency: false,
  },
};
