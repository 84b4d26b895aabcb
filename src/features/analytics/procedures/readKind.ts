import { type UsageFilter, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import type { Call } from "../../calls/call.ts";
import type { UsageQuestion } from "../usage/question.ts";
import { type AnalyticsDeps, type Readable, readScope } from "./readScope.ts";

/** The kind of events that is asked for, and what the root key may see of it (`readScope`). */
export const readKind = (deps: AnalyticsDeps, kind: UsageKind, call: Call): Readable & { readonly name: UsageQuestion["kind"] } => {
  const isOfKeys = kind === UsageKind.VERIFICATIONS;
  return {
    ...readScope(deps, isOfKeys ? "api.read_analytics" : "ratelimit.read_analytics", call),
    name: isOfKeys ? "verifications" : "ratelimits",
  };
};

/** The lists that are given, by field. Validation has left none that events of the kind do not have. */
export const readFilter = (filter: UsageFilter | undefined): UsageQuestion["filter"] => {
  if (filter === undefined) return {};
  const { $typeName, $unknown, ...lists } = filter;
  return Object.fromEntries(Object.entries(lists).flatMap(([field, list]) => (list === undefined ? [] : [[field, list.values]])));
};
