import { type Reason, reasons, type ServiceError, type Violation } from "../base/errors.ts";
import { errorStatus } from "./errorStatus.ts";

/** Statuses whose body always has `errors`, also when it is empty (protocol §5). */
const statusesWithErrors: ReadonlySet<number> = new Set([400, 408, 413, 499]);

/**
 * What stands before `/errors/…` in every `error.type`: an absolute http(s) URL; a slash at its end makes no difference. Asked for once, at the
 * first error, since a service that takes any free port knows its own address only once it listens.
 */
export type ErrorsBaseUrl = () => string;

/** `error.type` of a reason: an absolute URL (protocol §5). */
export type ErrorType = (reason: Reason) => string;

export const createErrorType = (base: ErrorsBaseUrl): ErrorType => {
  let prefix: string | undefined;
  return (reason) => {
    prefix ??= `${base().replace(/\/+$/, "")}/errors/`;
    return prefix + reasons[reason].type;
  };
};

/** The JSON text of a failure on `/v2` (protocol §5). */
export type ErrorBody = (error: ServiceError, requestId: string) => string;

const entry = ({ location, message, fix }: Violation) => (fix === undefined ? { location, message } : { location, message, fix });

export const createErrorBody = (errorsBaseUrl: ErrorsBaseUrl): ErrorBody => {
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
