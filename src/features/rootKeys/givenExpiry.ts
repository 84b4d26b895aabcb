import type { NullableTimestamp } from "../../../gen/latchkey/v2/common_pb.ts";
import type { Violation } from "../../platform/base/errors.ts";

const expiryHasPassed: Violation = {
  location: "body.expires",
  message: "the expiry must lie in the future",
  fix: "Send a later time in Unix milliseconds.",
};

/** The expiry that a request gives, Unix ms; null = never, undefined = not given. */
export const givenExpiry = (expires: NullableTimestamp | undefined): number | null | undefined =>
  expires === undefined ? undefined : expires.kind.case === "value" ? Number(expires.kind.value) : null;

/** What is wrong with a given expiry at `now` (Unix ms): it must lie strictly in the future. */
export const refusedExpiry = (expires: NullableTimestamp | undefined, now: number): readonly Violation[] =>
  (givenExpiry(expires) ?? Number.POSITIVE_INFINITY) <= now ? [expiryHasPassed] : [];
