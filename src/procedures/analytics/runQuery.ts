import type { JsonObject } from "@bufbuild/protobuf";
import type { Analytics } from "../../analytics/analytics.ts";
import type { Dataset } from "../../analytics/schema.ts";
import { type Action, allowsAny, insufficientPermissions, requirePermissions } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Call } from "../call.ts";

export interface AnalyticsDeps {
  /** Undefined: this deployment has no analytics store. */
  readonly analytics: Analytics | undefined;
}

/** The analytics store, or 412 `analytics_not_configured`. */
export const requireAnalytics = ({ analytics }: AnalyticsDeps): Analytics => {
  if (!analytics) throw new ServiceError("analytics_not_configured", "This deployment has no analytics store.");
  return analytics;
};

/**
 * Runs the caller's query over the rows that its root key may see (analytics §1): the wildcard sees everything, grants
 * for single ids only those, which is a filter and no error. 403 without any, then 412 without a store.
 */
export const runQuery = async (
  deps: AnalyticsDeps,
  { action, dataset }: { readonly action: Action; readonly dataset: Dataset },
  sql: string,
  call: Call,
): Promise<JsonObject[]> => {
  if (!allowsAny(call.caller, action)) throw insufficientPermissions([[action, "*"]]);
  const { all, ids } = call.caller.grants.scope(action);
  requirePermissions(call.caller, ...(all ? ["*"] : ids).values().map((id) => [action, id] as const));
  return requireAnalytics(deps).query({ sql, dataset, scope: all ? undefined : [...ids], now: call.receivedAt, signal: call.signal });
};
