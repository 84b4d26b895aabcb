import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { changes } from "../../../gen/latchkey/v2/options_pb.ts";
import { procedureName } from "../../platform/rpc/procedureName.ts";
import type { CallKind, CountedProcedure } from "../../platform/telemetry/callMetrics.ts";

/** What callers wait for on the way of their own requests. */
const hot: Readonly<Record<string, CallKind>> = {
  "keys.verifyKey": "verify",
  "ratelimit.limit": "limit",
  "ratelimit.multiLimit": "limit",
};

/** Queries over events take as long as they like, and `tail` waits on purpose. */
const kindOf = (name: string, isChange: boolean): CallKind =>
  name.startsWith("analytics.") ? "analytics" : (hot[name] ?? (isChange ? "change" : "read"));

/** How calls of a procedure are counted, and with which others they are timed. */
export const countedProcedure = (method: DescMethod): CountedProcedure => {
  const name = procedureName(method);
  return { name, kind: kindOf(name, getOption(method, changes)) };
};
