import type { Reason } from "../../../base/errors.ts";
import { errorStatus } from "../../../http/errorStatus.ts";

const json = "application/json";
const problem = "application/problem+json";

/** What a procedure says about the media type of its errors (method options of the same names). */
export interface ErrorMediaTypes {
  /** Every error is problem+json. */
  readonly problemJson: boolean;
  /** A 429 is plain JSON. */
  readonly rateLimitedJson: boolean;
}

/**
 * Media type of an error (protocol §1): problem+json when `accept` contains it, `application/*` or a full wildcard.
 * A 429 is always problem+json unless the procedure says otherwise.
 */
export const errorMediaType = (reason: Reason, accept: string | undefined, procedure?: ErrorMediaTypes): string => {
  if (procedure?.problemJson) return problem;
  if (errorStatus(reason).http === 429) return procedure?.rateLimitedJson ? json : problem;
  const range = accept?.toLowerCase() ?? "";
  return range.includes(problem) || range.includes("application/*") || range.includes("*/*") ? problem : json;
};
