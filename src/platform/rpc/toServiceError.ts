import { ServiceError } from "../base/errors.ts";
import { StoreOverloadedError, StoreUnavailableError } from "../storage/port/errors.ts";

/** Whatever a procedure or the store throws, as the one error that edges know. Internal facts stay in the cause. */
export const toServiceError = (error: unknown): ServiceError => {
  if (error instanceof ServiceError) return error;
  if (error instanceof StoreUnavailableError) {
    return new ServiceError("service_unavailable", "The store does not answer. Try again shortly.", { cause: error });
  }
  if (error instanceof StoreOverloadedError) {
    return new ServiceError("service_unavailable", "The store is asked too much at once. Try again shortly.", { cause: error });
  }
  return new ServiceError("unexpected_error", "Something unexpected happened. It has been logged under this request id.", { cause: error });
};
