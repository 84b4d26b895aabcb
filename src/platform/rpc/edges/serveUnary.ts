import type { DescMessage } from "@bufbuild/protobuf";
import type { Caller } from "../../authorization/authorization.ts";
import { ServiceError } from "../../base/errors.ts";
import type { Decoded } from "../../codec/decoded.ts";
import { atEndOfTurn } from "../../http/endOfTurn.ts";
import type { FindCaller, Pipeline, Response } from "../incomingCall.ts";
import type { EdgeCall } from "./edgeCall.ts";
import { asServiceError, type EdgeObserver } from "./edgeObserver.ts";

/** What the steps of a call need on every edge. */
export interface ServeOptions {
  readonly pipeline: Pipeline;
  readonly observer: EdgeObserver;
  /** Largest request message, before and after decompression (protocol §3, grpc §3). */
  readonly maxBodyBytes: number;
}

/**
 * What an edge adds to the steps of a call. `C`: its calls; `R`: what it knows of a procedure; `E`: an answer as it encodes one.
 * Made once, at the start: everything about one call is in the call.
 */
export interface UnaryParts<C extends EdgeCall, R, E> {
  /** Who calls. */
  readonly findCaller: FindCaller<C>;
  /** Throws a `ServiceError` for a request whose body need not be read, whatever is in it. Its caller is known by then. */
  readonly checkHead?: (call: C) => void;
  /** Bytes of a body that do not count as its message. */
  readonly overhead: number;
  /** The message in a body and all that is wrong with it. Fails where no procedure is to hear of it. */
  readonly decode: (call: C, route: R, body: Buffer) => Decoded<DescMessage> | Promise<Decoded<DescMessage>>;
  readonly encode: (call: C, route: R, response: Response) => E | Promise<E>;
  /** Writes the answer. A failure before anything is written becomes the answer. */
  readonly answer: (call: C, route: R, encoded: E) => Promise<void> | undefined;
  /** Writes a failure, also when the request's body has not been read (`call.bodyRead`). */
  readonly answerFailure: (call: C, route: R, error: ServiceError) => void;
  /** Answers of one turn of the event loop are encoded and written together, at its end. */
  readonly answersTogether?: boolean;
}

/** Serves a call to its end. Never throws. */
export type ServeUnary<C extends EdgeCall, R> = (call: C, route: R) => void;

/**
 * The steps of every call, on every edge, in the order of protocol §2: who calls, the body within its bounds, its message,
 * the pipeline, the answer or the failure. A failure is counted once: by the pipeline for what reached it, here for what ended
 * before. What is at hand is not waited for: a warm verification is answered in the turn in which its body is there,
 * without a promise. Nothing is written to a client that is gone: whoever leaves a thousand calls at once would have as many answers
 * written that nobody gets.
 */
export const serveUnary = <C extends EdgeCall, R, E>(options: ServeOptions, parts: UnaryParts<C, R, E>): ServeUnary<C, R> => {
  const { pipeline, observer, maxBodyBytes } = options;
  const { findCaller, checkHead, overhead, decode, encode, answer, answerFailure } = parts;

  const fail = (call: C, route: R, cause: unknown): void => {
    call.release();
    const error = asServiceError(cause, call.requestId, observer);
    call.span?.end(error.reason);
    if (call.isGone) return;
    try {
      answerFailure(call, route, error);
    } catch (fault) {
      if (!call.isGone) observer.fault(call.requestId, fault);
      call.destroy();
    }
  };

  /** What ends before the pipeline hears of it is counted here. */
  const refuse = (call: C, route: R, cause: unknown): void => {
    if (cause instanceof ServiceError) observer.refused(call.edge, call.method, cause.reason);
    fail(call, route, cause);
  };

  const write = (call: C, route: R, encoded: E): Promise<void> | undefined => {
    call.release();
    call.span?.end("ok");
    return call.isGone ? undefined : answer(call, route, encoded);
  };

  const finish = (call: C, route: R, response: Response): void => {
    try {
      const encoded = encode(call, route, response);
      const written = encoded instanceof Promise ? encoded.then((known) => write(call, route, known)) : write(call, route, encoded);
      written?.catch((cause: unknown) => fail(call, route, cause));
    } catch (cause) {
      fail(call, route, cause);
    }
  };
  const finishTogether = atEndOfTurn(({ call, route, response }: { call: C; route: R; response: Response }) =>
    finish(call, route, response),
  );
  const succeed = parts.answersTogether
    ? (call: C, route: R, response: Response): void => finishTogether({ call, route, response })
    : finish;

  const invoke = (call: C, route: R, caller: Caller, { message, violations }: Decoded<DescMessage>): void => {
    if (call.overdue) {
      refuse(call, route, new ServiceError("request_timeout", "The deadline passed before the call could begin."));
      return;
    }
    try {
      const { headerViolation } = call;
      const all = headerViolation === undefined ? violations : [headerViolation, ...violations];
      const response = pipeline.invoke(call, caller, message, all);
      if (!(response instanceof Promise)) succeed(call, route, response);
      else
        response.then(
          (known) => succeed(call, route, known),
          (cause: unknown) => fail(call, route, cause),
        );
    } catch (cause) {
      fail(call, route, cause);
    }
  };

  const accept = (call: C, route: R, caller: Caller, body: Buffer): void => {
    try {
      const decoded = decode(call, route, body);
      if (!(decoded instanceof Promise)) invoke(call, route, caller, decoded);
      else
        decoded.then(
          (known) => invoke(call, route, caller, known),
          (cause: unknown) => refuse(call, route, cause),
        );
    } catch (cause) {
      refuse(call, route, cause);
    }
  };

  const read = (call: C, route: R, caller: Caller): void => {
    try {
      call.identify(pipeline, caller);
      checkHead?.(call);
      call.readBody(maxBodyBytes, overhead, (body, share) => {
        if (body instanceof ServiceError) return refuse(call, route, body);
        call.body = share;
        call.bodyRead = true;
        accept(call, route, caller, body);
      });
    } catch (cause) {
      refuse(call, route, cause);
    }
  };

  return (call, route) => {
    try {
      const caller = pipeline.authenticate(call, findCaller);
      if (!(caller instanceof Promise)) read(call, route, caller);
      else
        caller.then(
          (known) => read(call, route, known),
          (cause: unknown) => fail(call, route, cause),
        );
    } catch (cause) {
      fail(call, route, cause);
    }
  };
};
