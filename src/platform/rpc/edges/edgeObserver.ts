import type { DescMethod } from "@bufbuild/protobuf";
import { type Reason, ServiceError } from "../../base/errors.ts";
import type { EdgeName } from "../../telemetry/callMetrics.ts";
import { toServiceError } from "../toServiceError.ts";

/** Told of what the edges decide themselves; all that reaches the pipeline is observed there. */
export interface EdgeObserver {
  /** A request was answered without the pipeline's `invoke`; `method` is set when its path named a procedure. */
  readonly refused: (edge: EdgeName, method: DescMethod | undefined, reason: Reason) => void;
  /** A defect: something failed with other than `ServiceError`. The caller saw a 500. */
  readonly fault: (requestId: string, error: unknown) => void;
}

/** A failure as callers may see it. Whatever is no `ServiceError` is reported and stays behind a 500. */
export const asServiceError = (error: unknown, requestId: string, observer: EdgeObserver): ServiceError => {
  if (!(error instanceof ServiceError)) observer.fault(requestId, error);
  return toServiceError(error);
};
