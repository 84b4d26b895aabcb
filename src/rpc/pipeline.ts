import { type DescMethodUnary, getOption, type Message } from "@bufbuild/protobuf";
import { changes } from "../../gen/latchkey/v2/options_pb.ts";
import type { Caller } from "../domain/authorization.ts";
import type { Clock } from "../domain/clock.ts";
import { appearances, invalidInput, type ServiceError, type Violation } from "../domain/errors.ts";
import type { AnyProcedure, ProcedureTable } from "../procedures/registry.ts";
import { toServiceError } from "../procedures/toServiceError.ts";
import type { Authenticator } from "../rootKeys/authenticator.ts";
import type { CallOutcome } from "../telemetry/metrics.ts";
import type { ClientAddress } from "./clientAddress.ts";
import type { Idempotency } from "./idempotency/idempotency.ts";
import { checkIdempotencyKey } from "./idempotency/idempotencyKey.ts";
import type { IncomingCall, Pipeline, Response } from "./incomingCall.ts";
import type { InFlight } from "./inFlight.ts";
import type { ManagementLimit } from "./managementLimit.ts";
import { PipelineCall } from "./pipelineCall.ts";
import { procedureName } from "./procedureName.ts";

export interface PipelineOptions {
  readonly clock: Clock;
  readonly authenticator: Authenticator;
  readonly procedures: ProcedureTable;
  readonly clientAddress: ClientAddress;
  readonly managementLimit: ManagementLimit | undefined;
  readonly idempotency: Idempotency;
  readonly inFlight: InFlight;
  /** Binds the recorder of a procedure's calls. */
  readonly recorder: (procedure: string) => (outcome: CallOutcome, milliseconds: number) => void;
  /** Hears of every 5xx, with the cause that the caller is not told. */
  readonly onFailure: (facts: { requestId: string; procedure: string; reason: string; error: unknown }) => void;
  /** Hears of every call's end; left out where nobody would listen. */
  readonly onEnd: ((facts: { requestId: string; procedure: string; outcome: CallOutcome; milliseconds: number }) => void) | undefined;
}

const describeViolations = (procedure: string, violations: readonly Violation[]): string => {
  const [first] = violations;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : "";
  return `The request of ${procedure} failed validation: ${first?.location ?? "body"}: ${first?.message ?? "invalid"}${more}.`;
};

/** The steps that every call takes, whatever its edge (protocol §2). */
export const createPipeline = (options: PipelineOptions): Pipeline => {
  const { clock, authenticator, procedures, clientAddress, managementLimit, idempotency, inFlight, recorder, onFailure, onEnd } = options;

  interface Bound {
    readonly name: string;
    readonly record: ReturnType<typeof recorder>;
    readonly procedure: AnyProcedure;
    /** An Idempotency-Key applies; elsewhere the header is ignored. */
    readonly keyed: boolean;
  }
  const bound = new Map<DescMethodUnary, Bound>();
  const bind = (method: DescMethodUnary) => {
    let found = bound.get(method);
    if (found === undefined) {
      const name = procedureName(method);
      const procedure = procedures.get(method);
      if (procedure === undefined) throw new Error(`${name} is served, but not registered`);
      found = { name, record: recorder(name), procedure, keyed: getOption(method, changes) };
      bound.set(method, found);
    }
    return found;
  };

  const end = (call: IncomingCall, outcome: CallOutcome): void => {
    const { name, record } = bind(call.method);
    const milliseconds = clock.monotonic() - call.startedAt;
    record(outcome, milliseconds);
    onEnd?.({ requestId: call.requestId, procedure: name, outcome, milliseconds });
  };

  /** Maps the error, counts the call, and logs what the caller is not told. */
  const fail = (call: IncomingCall, thrown: unknown): ServiceError => {
    const error = toServiceError(thrown);
    if (appearances[error.reason].status >= 500) {
      const cause = error.cause ?? error;
      onFailure({ requestId: call.requestId, procedure: bind(call.method).name, reason: error.reason, error: cause });
    }
    end(call, error.reason);
    return error;
  };

  const perform = (call: IncomingCall, caller: Caller, message: Message, violations: readonly Violation[]): object | Promise<object> => {
    const { name, procedure, keyed } = bind(call.method);
    const idempotencyKey = keyed ? call.idempotencyKey : undefined;
    const badKey = idempotencyKey === undefined ? undefined : checkIdempotencyKey(idempotencyKey);
    const all = badKey ? [...violations, badKey] : violations;
    if (all.length > 0) throw invalidInput(describeViolations(name, all), all);
    const remoteIp = clientAddress(call);
    return idempotencyKey === undefined
      ? procedure(message, new PipelineCall(call, caller, remoteIp))
      : idempotency({ incoming: call, idempotencyKey, caller, remoteIp, message, procedure });
  };

  const succeed = (call: IncomingCall, answer: object): Response => {
    end(call, "ok");
    return { ...answer, meta: { requestId: call.requestId } };
  };

  return {
    authenticate: (call) => {
      try {
        inFlight.enter();
      } catch (error) {
        // Counted, but not logged one by one.
        end(call, "service_unavailable");
        throw error;
      }
      call.onRelease = inFlight.leave;
      try {
        const caller = authenticator.authenticate(call.authorization, call.receivedAt);
        if (!(caller instanceof Promise)) return caller;
        return caller.catch((error: unknown) => {
          throw fail(call, error);
        });
      } catch (error) {
        throw fail(call, error);
      }
    },
    invoke: (call, caller, message, violations) => {
      try {
        const answer = managementLimit
          ? managementLimit(call).then(() => perform(call, caller, message, violations))
          : perform(call, caller, message, violations);
        if (!(answer instanceof Promise)) return succeed(call, answer);
        return answer.then(
          (known) => succeed(call, known),
          (error: unknown) => {
            throw fail(call, error);
          },
        );
      } catch (error) {
        throw fail(call, error);
      }
    },
  };
};
