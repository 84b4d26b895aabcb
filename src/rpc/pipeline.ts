import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Caller } from "../domain/authorization.ts";
import type { Clock } from "../domain/clock.ts";
import { appearances, invalidInput, ServiceError, type Violation } from "../domain/errors.ts";
import { createId } from "../domain/ids.ts";
import type { Call } from "../procedures/call.ts";
import type { ProcedureTable } from "../procedures/registry.ts";
import { toServiceError } from "../procedures/toServiceError.ts";
import type { Authenticator } from "../rootKeys/authenticator.ts";
import type { CallOutcome } from "../telemetry/metrics.ts";
import type { ClientAddress } from "./clientAddress.ts";
import type { IncomingCall, Pipeline } from "./incomingCall.ts";
import type { ManagementLimit } from "./managementLimit.ts";
import { procedureName } from "./procedureName.ts";

export interface PipelineOptions {
  readonly clock: Clock;
  readonly authenticator: Authenticator;
  readonly procedures: ProcedureTable;
  readonly clientAddress: ClientAddress;
  readonly managementLimit: ManagementLimit | undefined;
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

/** One is made per call, on the way of every verification, hence a class: its getters are shared. */
class PipelineCall implements Call {
  readonly requestId: string;
  readonly caller: Caller;
  readonly receivedAt: number;
  readonly remoteIp: string | undefined;
  readonly #incoming: IncomingCall;
  #correlationId: string | undefined;

  constructor(incoming: IncomingCall, caller: Caller, remoteIp: string | undefined) {
    this.requestId = incoming.requestId;
    this.caller = caller;
    this.receivedAt = incoming.receivedAt;
    this.remoteIp = remoteIp;
    this.#incoming = incoming;
  }

  get signal(): AbortSignal {
    return this.#incoming.signal;
  }

  get userAgent(): string | undefined {
    return this.#incoming.userAgent;
  }

  get correlationId(): string {
    this.#correlationId ??= createId("cor", this.receivedAt);
    return this.#correlationId;
  }
}

/** The steps that every call takes, whatever its edge (protocol §2). */
export const createPipeline = (options: PipelineOptions): Pipeline => {
  const { clock, authenticator, procedures, clientAddress, managementLimit, recorder, onFailure, onEnd } = options;

  const bound = new Map<DescMethodUnary, { readonly name: string; readonly record: ReturnType<typeof recorder> }>();
  const bind = (method: DescMethodUnary) => {
    let found = bound.get(method);
    if (found === undefined) {
      const name = procedureName(method);
      found = { name, record: recorder(name) };
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
    if (appearances[error.reason].status >= 500 && error.reason !== "not_implemented") {
      const cause = error.cause ?? error;
      onFailure({ requestId: call.requestId, procedure: bind(call.method).name, reason: error.reason, error: cause });
    }
    end(call, error.reason);
    return error;
  };

  return {
    authenticate: (call) => {
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
    invoke: async (call, caller, message, violations) => {
      try {
        if (managementLimit) await managementLimit(call);
        const procedure = procedures.get(call.method);
        if (procedure === undefined) throw new ServiceError("not_implemented", `${bind(call.method).name} is not implemented yet.`);
        if (violations.length > 0) throw invalidInput(describeViolations(bind(call.method).name, violations), violations);
        const answer = await procedure(message, new PipelineCall(call, caller, clientAddress(call)));
        end(call, "ok");
        return { ...answer, meta: { requestId: call.requestId } };
      } catch (error) {
        throw fail(call, error);
      }
    },
  };
};
