import { type DescMethodUnary, getOption, type Message } from "@bufbuild/protobuf";
import { changes, if_match } from "../../../gen/latchkey/v2/options_pb.ts";
import type { Caller } from "../../platform/authorization/authorization.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { invalidInput, isServiceFault, ServiceError, type Violation } from "../../platform/base/errors.ts";
import { mostFindings } from "../../platform/codec/rules/findings.ts";
import type { CallerPath } from "../../platform/fairness/fairShares.ts";
import type { Capacity } from "../../platform/http/capacity.ts";
import { type ClientAddress, networkOf } from "../../platform/http/clientAddress.ts";
import type { IncomingCall, Pipeline, Response } from "../../platform/rpc/incomingCall.ts";
import { toServiceError } from "../../platform/rpc/toServiceError.ts";
import type { CallMetrics, CallOutcome } from "../../platform/telemetry/callMetrics.ts";
import { checkIdempotencyKey } from "../idempotency/idempotencyKey.ts";
import type { CallerOfCall, UsedPermissions } from "../rootKeys/usedPermissions.ts";
import { countedProcedure } from "./countedProcedure.ts";
import type { Idempotency } from "./createIdempotency.ts";
import { readIfMatch } from "./ifMatch.ts";
import type { ManagementLimit } from "./managementLimit.ts";
import { PipelineCall } from "./pipelineCall.ts";
import type { AnyProcedure, ProcedureTable } from "./procedureTable.ts";

export interface PipelineOptions {
  readonly clock: Clock;
  readonly usedPermissions: Pick<UsedPermissions, "open">;
  readonly procedures: ProcedureTable;
  readonly clientAddress: ClientAddress;
  readonly managementLimit: ManagementLimit | undefined;
  readonly idempotency: Idempotency;
  readonly capacity: Pick<Capacity, "calls" | "bodies">;
  /** Binds the recorder of a procedure's calls. */
  readonly recorder: CallMetrics["calls"];
  /** Hears of every answer that is degraded. */
  readonly onDegraded: CallMetrics["degraded"];
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

/** Everything that is wrong: what is known, and what the procedure itself refuses elsewhere. */
const withOwn = (known: readonly Violation[], own: readonly Violation[]): readonly Violation[] => {
  const places = new Set(known.map(({ location }) => location));
  return [...known, ...own.filter(({ location }) => !places.has(location))].slice(0, mostFindings);
};

/** The steps that every call takes, whatever its edge (protocol §2). */
export const createPipeline = (options: PipelineOptions): Pipeline => {
  const { clock, usedPermissions, procedures, clientAddress, managementLimit, idempotency, recorder, onDegraded, onFailure, onEnd } =
    options;
  const { calls, bodies } = options.capacity;

  interface Bound {
    readonly name: string;
    readonly record: ReturnType<typeof recorder>;
    readonly procedure: AnyProcedure;
    /** An Idempotency-Key applies; elsewhere the header is ignored. */
    readonly keyed: boolean;
    /** What it changes has a revision. */
    readonly isConditional: boolean;
  }
  const bound = new Map<DescMethodUnary, Bound>();
  const bind = (method: DescMethodUnary) => {
    let found = bound.get(method);
    if (found === undefined) {
      const counted = countedProcedure(method);
      const { name } = counted;
      const procedure = procedures.get(method);
      if (procedure === undefined) throw new Error(`${name} is served, but not registered`);
      const isConditional = getOption(method, if_match) !== "";
      found = { name, record: recorder(counted), procedure, keyed: getOption(method, changes), isConditional };
      bound.set(method, found);
    }
    return found;
  };

  const end = (call: IncomingCall, outcome: CallOutcome): void => {
    const { name, record } = bind(call.method);
    const milliseconds = clock.monotonic() - call.startedAt;
    record(call.edge, outcome, milliseconds);
    call.degraded?.forEach(onDegraded);
    onEnd?.({ requestId: call.requestId, procedure: name, outcome, milliseconds });
  };

  /** Maps the error, counts the call, and logs what the caller is not told. */
  const fail = (call: IncomingCall, thrown: unknown): ServiceError => {
    const error = toServiceError(thrown);
    error.degraded = call.degraded;
    if (isServiceFault(error.reason)) {
      const cause = error.cause ?? error;
      onFailure({ requestId: call.requestId, procedure: bind(call.method).name, reason: error.reason, error: cause });
    }
    end(call, error.reason);
    return error;
  };

  const perform = (call: IncomingCall, caller: Caller, message: Message, violations: readonly Violation[]): object | Promise<object> => {
    const { name, procedure, keyed, isConditional } = bind(call.method);
    const idempotencyKey = keyed ? call.idempotencyKey : undefined;
    const badKey = idempotencyKey === undefined ? undefined : checkIdempotencyKey(idempotencyKey);
    const { precondition, violation: badMatch } = readIfMatch(keyed ? call.ifMatch : undefined, isConditional);
    let known = badKey ? [...violations, badKey] : violations;
    if (badMatch) known = [...known, badMatch];
    if (known.length > 0) {
      const all = withOwn(known, procedure.judge?.(message, call.receivedAt) ?? []);
      throw invalidInput(describeViolations(name, all), all);
    }
    const remoteIp = clientAddress(call);
    return idempotencyKey === undefined
      ? procedure(message, new PipelineCall(call, caller, remoteIp, precondition))
      : idempotency({ incoming: call, idempotencyKey, caller, remoteIp, precondition, message, procedure });
  };

  const succeed = (call: IncomingCall, caller: CallerOfCall, answer: object): Response => {
    caller.succeed();
    end(call, "ok");
    const { requestId, degraded } = call;
    return { ...answer, meta: degraded === undefined ? { requestId } : { requestId, degraded } };
  };

  const addressOf = (call: IncomingCall): string => networkOf(clientAddress(call));
  const pathOf = (call: IncomingCall, caller: Caller): CallerPath => [caller.rootKeyId, addressOf(call)];

  /** Counted by whoever refused, and as a call, but not logged one by one. */
  const refuse = (call: IncomingCall): never => {
    end(call, "service_unavailable");
    throw new ServiceError("service_unavailable", "Too many calls are in work. Try again shortly.");
  };

  return {
    authenticate: (call, findCaller) => {
      let caller: Caller | Promise<Caller>;
      try {
        caller = findCaller(call);
      } catch (error) {
        throw fail(call, error);
      }
      if (!(caller instanceof Promise)) return caller;
      // Nobody is known yet but the address.
      const slot = calls.take([addressOf(call)], 1);
      if (slot === undefined) {
        caller.catch(() => undefined);
        return refuse(call);
      }
      return caller
        .catch((error: unknown) => {
          throw fail(call, error);
        })
        .finally(slot.give);
    },
    pathOf,
    holdBody: bodies.take,
    invoke: (call, known, message, violations) => {
      const caller = usedPermissions.open(known, call.receivedAt);
      // A call that is answered at once takes no place; whether there is one has to be known before it begins.
      let slot = calls.hasRoom(1) ? undefined : (calls.take(pathOf(call, caller), 1) ?? refuse(call));
      try {
        const answer =
          managementLimit && !known.isStranger
            ? managementLimit(call).then(() => perform(call, caller, message, violations))
            : perform(call, caller, message, violations);
        if (!(answer instanceof Promise)) {
          slot?.give();
          return succeed(call, caller, answer);
        }
        slot ??= calls.take(pathOf(call, caller), 1);
        call.onRelease = slot?.give;
        return answer.then(
          (settled) => succeed(call, caller, settled),
          (error: unknown) => {
            throw fail(call, error);
          },
        );
      } catch (error) {
        slot?.give();
        throw fail(call, error);
      }
    },
  };
};
