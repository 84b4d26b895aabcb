import type { JsonObject } from "@bufbuild/protobuf";
import type { Action } from "../../../platform/authorization/authorization.ts";
import type { Call } from "../../calls/call.ts";
import type { Dataset } from "../tables/schema.ts";
import { type AnalyticsDeps, readScope } from "./readScope.ts";

/** Runs the caller's query over the rows that its root key may see (`readScope`). */
export const runQuery = async (
  deps: AnalyticsDeps,
  { action, dataset }: { readonly action: Action; readonly dataset: Dataset },
  sql: string,
  call: Call,
): Promise<JsonObject[]> => {
  const { analytics, scope } = readScope(deps, action, call);
  return analytics.query({ sql, dataset, scope, now: call.receivedAt, signal: call.signal });
};
