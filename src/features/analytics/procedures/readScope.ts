import { type Action, allowsAny, insufficientPermissions, requirePermissions } from "../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import type { Call } from "../../calls/call.ts";
import type { Analytics } from "../createAnalytics.ts";

export interface AnalyticsDeps {
  /** Undefined: this deployment has no analytics store. */
  readonly analytics: Analytics | undefined;
  /** Why there is none, for people. */
  readonly analyticsAbsence: string;
}

/** What a caller may see of the events, and where they are. */
export interface Readable {
  readonly analytics: Analytics;
  /** Ids whose rows the caller may see; undefined = all. */
  readonly scope: readonly string[] | undefined;
}

/** The analytics store, or 412 `analytics_not_configured`. */
export const requireAnalytics = ({ analytics, analyticsAbsence }: AnalyticsDeps): Analytics => {
  if (!analytics) throw new ServiceError("analytics_not_configured", `This deployment has no analytics store: ${analyticsAbsence}.`);
  return analytics;
};

/**
 * Which events the root key may see (analytics §1): the wildcard sees everything, grants for single ids only theirs, which is a
 * filter and no error. 403 without any, then 412 without a store.
 */
export const readScope = (deps: AnalyticsDeps, action: Action, call: Call): Readable => {
  if (!allowsAny(call.caller, action)) throw insufficientPermissions(call.caller, [[action, "*"]]);
  const { all, ids } = call.caller.grants.scope(action);
  requirePermissions(call.caller, ...(all ? ["*"] : ids).values().map((id) => [action, id] as const));
  return { analytics: requireAnalytics(deps), scope: all ? undefined : [...ids] };
};
