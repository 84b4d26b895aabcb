import type { DescMessage, DescMethodUnary, Message, MessageInitShape } from "@bufbuild/protobuf";
import type { Caller } from "../authorization/authorization.ts";
import type { Degraded } from "../base/behalf.ts";
import type { Violation } from "../base/errors.ts";
import type { CallerPath, Share } from "../fairness/fairShares.ts";
import type { CallOutcome, EdgeName } from "../telemetry/callMetrics.ts";
import type { TraceHeaders } from "../telemetry/tracing/tracer.ts";
import type { Visit } from "./visit.ts";

/** A call in a trace. */
interface TracedCall {
  /** Runs a part of the call. */
  readonly run: <T>(part: () => T) => T;
  /** To be called when the answer is known; the first end counts. */
  readonly end: (outcome: CallOutcome) => void;
}

/** What an edge knows of a call before its body is read. Everything but the first four is taken from the wire as it is. */
export interface IncomingCall extends TraceHeaders {
  readonly edge: EdgeName;
  readonly method: DescMethodUnary;
  /** `req_…`, made by the edge, new for every request (protocol §5). */
  readonly requestId: string;
  /** Wall-clock time of arrival, Unix ms. */
  readonly receivedAt: number;
  /** Monotonic time of arrival, in milliseconds, from which durations are counted. */
  readonly startedAt: number;
  /** The header `Authorization`, verbatim. */
  readonly authorization: string | undefined;
  /** The header `Idempotency-Key`, verbatim. */
  readonly idempotencyKey: string | undefined;
  /** The header `If-Match`, verbatim. */
  readonly ifMatch: string | undefined;
  /** Address of the socket's other end; an IPv4 address is never written as IPv6. */
  readonly remoteIp: string | undefined;
  /** The header `X-Forwarded-For`, verbatim; several headers joined with a comma. */
  readonly forwardedFor: string | undefined;
  readonly userAgent: string | undefined;
  /** Of calls of the console: with what they came. */
  readonly visit?: Visit;
  /**
   * Aborted at the deadline (60 s after arrival, or earlier when the caller said so) and when the client went away.
   * Its reason is a `ServiceError`: `request_timeout` or `client_closed_request`. Made on first use.
   */
  readonly signal: AbortSignal;
  /** Whose it is, as everything is divided between callers (`capacity.ts`). To be asked for once the caller is known. */
  readonly path: CallerPath;
  /** Set where the call is traced. */
  span: TracedCall | undefined;
  /** Called by the edge once the answer is known, unless the call was let go of before. */
  onRelease: (() => void) | undefined;
  /** What `meta.degraded` of the answer says, if anything. */
  readonly degraded: readonly Degraded[] | undefined;
  /** See `Behalf`. */
  readonly degrade: (what: Degraded) => void;
  /** Adds a header to the answer, whatever the answer turns out to be. To be called before `invoke` settles. */
  readonly setHeader: (name: string, value: string) => void;
}

/** A response with its `meta`, in the form that `create` of protobuf-es accepts. */
export type Response = MessageInitShape<DescMessage>;

/**
 * Who makes a call, by what an edge takes for credentials; at once where that is remembered. Fails with a `ServiceError` for those
 * that are missing or wrong, or with what the store fails with.
 */
export type FindCaller<C extends IncomingCall = IncomingCall> = (call: C) => Caller | Promise<Caller>;

/** What every edge does with a call, whatever the protocol. Knows neither Connect nor node:http. */
export interface Pipeline {
  /**
   * Step 2 of protocol §2: waits for `findCaller` if it has to, within the room that there is for calls, and counts its failure.
   * Fails with `ServiceError` only, by throwing or by rejecting.
   */
  readonly authenticate: <C extends IncomingCall>(call: C, findCaller: FindCaller<C>) => Caller | Promise<Caller>;
  /** The path of a call whose caller is known. */
  readonly pathOf: (call: IncomingCall, caller: Caller) => CallerPath;
  /**
   * Makes room for a body that is awaited or in work, in bytes; undefined when its caller has had its share. `evict` takes
   * that back when others have less: it ends the waiting.
   */
  readonly holdBody: (path: CallerPath, bytes: number, evict?: () => void) => Share | undefined;
  /**
   * Steps 4 to 10. `violations` are what reading, decoding and validating the request found: any makes the call fail
   * with 400 `invalid_input`. At once when nothing has to be waited for. Fails with `ServiceError` only, by throwing or
   * by rejecting.
   */
  readonly invoke: (call: IncomingCall, caller: Caller, message: Message, violations: readonly Violation[]) => Response | Promise<Response>;
}
