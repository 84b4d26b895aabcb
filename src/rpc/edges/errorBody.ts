import { type Reason, reasons, type ServiceError, type Violation } from "../../domain/errors.ts";
import { errorStatus } from "../errorStatus.ts";

/** Statuses whose body always has `errors`, also when it is empty (protocol §5). */
const statusesWithErrors: ReadonlySet<number> = new Set([400, 408, 413, 499]);

/** `error.type` of a reason: an absolute URL (protocol §5). */
export type ErrorType = (reason: Reason) => string;

/** `base` is an absolute http(s) URL; a slash at its end makes no difference. */
export const createErrorType = (base: string): ErrorType => {
  const prefix = `${base.replace(/\/+$/, "")}/errors/`;
  return (reason) => prefix + reasons[reason].type;
};

/** The JSON text of a failure on `/v2` (protocol §5). */
export type ErrorBody = (error: ServiceError, requestId: string) => string;

const entry = ({ location, message, fix }: Violation) => (fix === undefined ? { location, message } : { location, message, fix });

/** `errorsBaseUrl`: what stands before `/errors/…` in every `error.type`. */
export const createErrorBody = (errorsBaseUrl: string): ErrorBody => {
  const errorType = createErrorType(errorsBaseUrl);
  return (error, requestId) => {
    const { title, http: status } = errorStatus(error.reason);
    return JSON.stringify({
      meta: { requestId, ...(error.degraded && { degraded: error.degraded }) },
      error: {
        title,
        detail: error.message,
        status,
        type: errorType(error.reason),
        ...(statusesWithErrors.has(status) && { errors: error.violations.map(entry) }),
      },
    });
  };
};
