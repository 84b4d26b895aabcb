import type { MessageInitShape } from "@bufbuild/protobuf";
import { type TailRequestSchema, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";

/** The followed events, as `analytics.tail` takes them. */
export type Followed = Pick<MessageInitShape<typeof TailRequestSchema>, "kind" | "filter"> & { readonly kind: UsageKind };

const verificationFilters = ["outcome", "apiId", "keyId", "externalId", "tag"] as const;
const checkFilters = ["namespaceId", "identifier"] as const;

const filters = <Name extends string>(query: URLSearchParams, names: readonly Name[]): { [Each in Name]?: { values: string[] } } =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = query.get(name) ?? "";
      return value === "" ? [] : [[name, { values: [value] }]];
    }),
  ) as { [Each in Name]?: { values: string[] } };

/** Reads kind and filter from the page's query: `kind=ratelimits`, `outcome=RATE_LIMITED`, `passed=false`. */
export const readFollowed = (query: URLSearchParams): Followed => {
  if (query.get("kind") !== "ratelimits") return { kind: UsageKind.VERIFICATIONS, filter: filters(query, verificationFilters) };
  const passed = query.get("passed");
  return {
    kind: UsageKind.RATELIMITS,
    filter: {
      ...filters(query, checkFilters),
      ...(passed === "true" || passed === "false" ? { passed: { values: [passed === "true"] } } : {}),
    },
  };
};
