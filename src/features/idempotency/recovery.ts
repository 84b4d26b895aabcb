import { isServiceFault, type ServiceError } from "../../platform/base/errors.ts";

/** What is known once a run of a call has failed. */
export interface FailedRun {
  /** See `kindOfFailure`. */
  readonly error: "forbidden" | "refused" | "unsure";
  /** Of the run's change. `notBegun`: it holds no reservation. `unknown`: the store does not tell. */
  readonly change: "notBegun" | "written" | "notWritten" | "unknown";
  /** What the call answers was known before its change. */
  readonly answerKnown: boolean;
  /** It took the work over from a run that was abandoned. */
  readonly resumed: boolean;
}

/**
 * `complete`: the work is done, the answer that was known is given. `free`: the key is free again, and the call fails.
 * `lookAgain`: the reservation is left, and taken over at once by the same call. `fail`: the reservation, if there is one, is
 * left to a repeat, and the call fails. `compare`: the call fails, unless another run of the same call is the reason.
 */
export type Recovery = "complete" | "free" | "lookAgain" | "fail" | "compare";

/** `forbidden` and `refused`: nothing was written, and nothing will be. `unsure`: the error does not say. */
export const kindOfFailure = ({ reason }: ServiceError): FailedRun["error"] => {
  if (reason === "insufficient_permissions") return "forbidden";
  const saysNothing = isServiceFault(reason) || reason === "request_timeout" || reason === "client_closed_request";
  return saysNothing ? "unsure" : "refused";
};

/** What becomes of a run that failed, and of its reservation (protocol §2). */
export const recoveryOf = ({ error, change, answerKnown, resumed }: FailedRun): Recovery => {
  switch (change) {
    case "notBegun":
      // Perhaps it was refused because of what another run of the same call has changed meanwhile.
      return error === "refused" ? "compare" : "fail";
    case "written":
      if (answerKnown) return "complete";
      return resumed ? "fail" : "lookAgain";
    case "notWritten":
      return error === "unsure" ? "fail" : "free";
    case "unknown":
      // Like having written: a repeat will find out.
      return "fail";
  }
};
