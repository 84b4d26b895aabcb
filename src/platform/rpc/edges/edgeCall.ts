import type { IncomingHttpHeaders } from "node:http";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Caller } from "../../authorization/authorization.ts";
import type { Degraded } from "../../base/behalf.ts";
import type { Clock } from "../../base/clock.ts";
import type { Violation } from "../../base/errors.ts";
import { createId } from "../../base/ids.ts";
import type { CallerPath, Share } from "../../fairness/fairShares.ts";
import type { Guarded } from "../../http/connectionGuard.ts";
import { headerText, valuesOf } from "../../http/headerFields.ts";
import { callTimeout } from "../../http/limits.ts";
import { type BodyOwner, type BodyReader, noRoom } from "../../http/readBody.ts";
import type { EdgeName } from "../../telemetry/callMetrics.ts";
import { type CallSignal, createCallSignal, type OtherEnd } from "../callSignal.ts";
import type { IncomingCall, Pipeline } from "../incomingCall.ts";

/** IPv4 addresses of a socket that listens on IPv6 come as `::ffff:192.0.2.7`. */
const mappedPrefix = "::ffff:";

/**
 * A call as it came over HTTP, on any edge and either version. One is made per request, on the way of every
 * verification, hence a class: its getters are shared, and what nobody asks for costs nothing.
 */
export abstract class EdgeCall implements IncomingCall, BodyOwner {
  readonly edge: EdgeName;
  readonly method: DescMethodUnary;
  readonly requestId: string;
  readonly receivedAt: number;
  readonly startedAt: number;
  /** What is wrong with its headers, and fails the call together with what is wrong with its message. */
  readonly headerViolation: Violation | undefined;
  /** Set once nothing of the body is left to come. */
  bodyRead = false;
  span: IncomingCall["span"];
  onRelease: (() => void) | undefined;
  degraded: Degraded[] | undefined;
  /** What its body takes, if that counts. */
  body: Share | undefined;
  /** Names and values that `setHeader` was given, in turns. */
  headers: string[] | undefined;
  /** Names and values that `setTrailer` was given, in turns. */
  trailers: string[] | undefined;
  #pipeline: Pipeline | undefined;
  #caller: Caller | undefined;
  #path: CallerPath | undefined;
  readonly #clock: Clock;
  readonly #timeout: number;
  #signal: CallSignal | undefined;

  /** `timeout`: the caller's own deadline in ms after arrival, or what is wrong with it; more than 60 s counts as 60 s. */
  constructor(edge: EdgeName, method: DescMethodUnary, clock: Clock, timeout?: number | Violation) {
    this.edge = edge;
    this.method = method;
    this.receivedAt = clock.now();
    this.startedAt = clock.monotonic();
    this.requestId = createId("req", this.receivedAt);
    this.#clock = clock;
    this.headerViolation = typeof timeout === "object" ? timeout : undefined;
    this.#timeout = typeof timeout === "number" ? Math.min(timeout, callTimeout) : callTimeout;
  }

  /** True when nobody can get the answer any more. */
  abstract get isGone(): boolean;

  /** Reads the body within its bounds, in bytes, of which `overhead` do not count (`collectBody`). To be called once the caller is known. */
  abstract readBody(limit: number, overhead: number, done: BodyReader): void;

  /** Ends the request without an answer. */
  abstract destroy(): void;

  /** As node parsed them. */
  abstract get requestHeaders(): IncomingHttpHeaders;

  /** Names and values, in turns, as they came. */
  protected abstract get rawHeaders(): readonly string[];

  /** Of the socket, as node writes it. */
  protected abstract get remoteAddress(): string | undefined;

  protected abstract get otherEnd(): OtherEnd;

  /** The HTTP/2 connection that it came on. */
  protected abstract get session(): Guarded | undefined;

  get authorization(): string | undefined {
    return this.requestHeaders.authorization;
  }

  get idempotencyKey(): string | undefined {
    return headerText(this.requestHeaders["idempotency-key"]);
  }

  get ifMatch(): string | undefined {
    // Of several fields node keeps the first over HTTP/2, and all over HTTP/1.1.
    return this.requestHeaders["if-match"] === undefined ? undefined : valuesOf(this.rawHeaders, "if-match").join(", ");
  }

  get remoteIp(): string | undefined {
    const address = this.remoteAddress;
    return address?.startsWith(mappedPrefix) && address.includes(".") ? address.slice(mappedPrefix.length) : address;
  }

  get forwardedFor(): string | undefined {
    return headerText(this.requestHeaders["x-forwarded-for"]);
  }

  get userAgent(): string | undefined {
    return this.requestHeaders["user-agent"];
  }

  get traceparent(): string | undefined {
    return headerText(this.requestHeaders.traceparent);
  }

  get tracestate(): string | undefined {
    return headerText(this.requestHeaders.tracestate);
  }

  /** To be called once the caller is known. */
  identify(pipeline: Pipeline, caller: Caller): void {
    this.#pipeline = pipeline;
    this.#caller = caller;
  }

  get path(): CallerPath {
    this.#path ??= this.#pipeline?.pathOf(this, this.#caller as Caller) ?? [];
    return this.#path;
  }

  hold(bytes: number, evict: () => void): Share | undefined {
    return this.#pipeline?.holdBody(this.path, bytes, evict);
  }

  charge(bytes: number): void {
    if (this.body?.grow(bytes)) return;
    const share = this.body === undefined ? this.#pipeline?.holdBody(this.path, bytes) : undefined;
    if (share === undefined) throw noRoom();
    this.body = share;
  }

  get signal(): AbortSignal {
    this.#signal ??= createCallSignal(this.otherEnd, this.#timeout - (this.#clock.monotonic() - this.startedAt));
    return this.#signal.signal;
  }

  /** True once the deadline has passed, whether or not anybody looked at the signal. */
  get overdue(): boolean {
    return this.#clock.monotonic() - this.startedAt >= this.#timeout;
  }

  degrade(what: Degraded): void {
    if (this.degraded === undefined) this.degraded = [what];
    else if (!this.degraded.includes(what)) this.degraded.push(what);
  }

  setHeader(name: string, value: string): void {
    if (this.headers === undefined) this.headers = [name, value];
    else this.headers.push(name, value);
  }

  /** Like `setHeader`, but for what follows the message: gRPC's trailers, Connect's headers `trailer-…`. */
  setTrailer(name: string, value: string): void {
    if (this.trailers === undefined) this.trailers = [name, value];
    else this.trailers.push(name, value);
  }

  /** To be called when the answer is known, and again when it could not be written; the call is let go of once. */
  release(): void {
    this.#signal?.release();
    const onRelease = this.onRelease;
    this.onRelease = undefined;
    onRelease?.();
    this.body?.give();
    this.#pipeline = undefined;
  }
}
