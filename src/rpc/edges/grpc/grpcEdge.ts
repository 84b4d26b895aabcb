import { constants, type OutgoingHttpHeaders } from "node:http2";
import { create, type DescMessage } from "@bufbuild/protobuf";
import type { Caller } from "../../../domain/authorization.ts";
import { ServiceError, type Violation } from "../../../domain/errors.ts";
import type { Decoded } from "../../codec/compileCodec.ts";
import { answerStreamEarly, isLong, swallowStream } from "../../http/drain.ts";
import type { OpenedStream, StreamHandler } from "../../http/handlers.ts";
import { addFields } from "../../http/headerFields.ts";
import { collectBody } from "../../http/readBody.ts";
import type { Response } from "../../pipeline/incomingCall.ts";
import { createDescribeError } from "../../wire/connectError.ts";
import { compressedFlag, errorTrailers, frame, frameHeaderBytes, gzip, minCompressed, okTrailers } from "../../wire/frame.ts";
import { acceptsGzip, grpcWire, timeoutOf } from "../../wire/protocolWire.ts";
import { messageEncoding, messageIn, type ReadMessage } from "../../wire/readMessage.ts";
import type { MessageForm, RpcRoute } from "../../wire/rpcRoutes.ts";
import type { ConnectOptions } from "../connect/connectEdge.ts";
import { asServiceError } from "../edgeObserver.ts";
import { GrpcCall } from "./grpcCall.ts";

const { protocol } = grpcWire;

/**
 * Unary gRPC in its binary form (grpc §1) straight on HTTP/2 streams: most internal calls come this way, and node's
 * compatibility API and Protobuf reflection took two thirds of their time. Everything else of RPC, also what is wrong
 * with a request's address or content type, is left to the Connect edge, which answers alike.
 */
export const createGrpcEdge = (options: Omit<ConnectOptions, "services" | "health" | "publicStreams" | "reflection">): StreamHandler => {
  const { pipeline, clock, maxBodyBytes, observer, routes, slices } = options;
  const describeError = options.describeError ?? createDescribeError(options.errorsBaseUrl);

  /** Writes head, message and trailers of an answer. */
  const send = (call: GrpcCall, message: Buffer | undefined, trailers: OutgoingHttpHeaders, encoding?: string): void => {
    const { stream } = call;
    if (call.isGone) return;
    const head: OutgoingHttpHeaders = { ":status": 200, "content-type": grpcWire.contentType };
    if (encoding !== undefined) head[protocol.encodingHeader] = encoding;
    if (call.headers !== undefined) addFields(head, call.headers);
    head["x-request-id"] = call.requestId;
    const last = call.trailers === undefined ? trailers : addFields({ ...trailers }, call.trailers);
    // Trailers go out later than the head; where that is too late they are among the headers.
    if (message === undefined && !call.bodyRead && isLong(call.requestHeaders)) {
      answerStreamEarly(stream, { ...head, ...last });
      return;
    }
    stream.respond(head, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers(last));
    stream.end(message);
    if (!call.bodyRead && !stream.endAfterHeaders) swallowStream(stream);
  };

  const fail = (call: GrpcCall, cause: unknown): void => {
    call.release();
    const error = asServiceError(cause, call.requestId, observer);
    try {
      send(call, undefined, errorTrailers(describeError(error, call.requestId, true)));
    } catch (fault) {
      observer.fault(call.requestId, fault);
      call.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  };

  const succeed = (call: GrpcCall, bytes: Uint8Array): void => {
    call.release();
    if (bytes.length < minCompressed || !acceptsGzip(grpcWire, call.requestHeaders)) send(call, frame(0, bytes), okTrailers);
    else {
      gzip(bytes)
        .then((compressed) => send(call, frame(compressedFlag, compressed), okTrailers, "gzip"))
        .catch((cause: unknown) => fail(call, cause));
    }
  };

  const encode = (call: GrpcCall, { write }: MessageForm, response: Response): void => {
    const bytes = write(response, call);
    if (!(bytes instanceof Promise)) succeed(call, bytes);
    else bytes.then((known) => succeed(call, known)).catch((cause: unknown) => fail(call, cause));
  };

  /** Decodes what can be decoded, and lets the pipeline do the rest. */
  const accept = (call: GrpcCall, route: RpcRoute, caller: Caller, read: ReadMessage, badTimeout?: Violation): void => {
    try {
      const decoded =
        "bytes" in read ? route.binary.read(read.bytes, call) : { message: create(route.method.input), violations: [read.violation] };
      if (!(decoded instanceof Promise)) invoke(call, route, caller, decoded, badTimeout);
      else
        decoded.then(
          (known) => invoke(call, route, caller, known, badTimeout),
          (cause: unknown) => refuse(call, cause),
        );
    } catch (cause) {
      refuse(call, cause);
    }
  };

  const invoke = (call: GrpcCall, { binary }: RpcRoute, caller: Caller, decoded: Decoded<DescMessage>, badTimeout?: Violation): void => {
    try {
      const violations = badTimeout ? [badTimeout, ...decoded.violations] : decoded.violations;
      if (call.overdue) throw new ServiceError("request_timeout", "The deadline passed before the call could begin.");
      const response = pipeline.invoke(call, caller, decoded.message, violations);
      if (response instanceof Promise) {
        response.then((known: Response) => encode(call, binary, known)).catch((cause: unknown) => fail(call, cause));
      } else encode(call, binary, response);
    } catch (cause) {
      fail(call, cause);
    }
  };

  /** What ends before the pipeline hears of it is counted here. */
  const refuse = (call: GrpcCall, cause: unknown): void => {
    if (cause instanceof ServiceError) observer.refused(call.method, cause.reason);
    fail(call, cause);
  };

  const read = (call: GrpcCall, route: RpcRoute, caller: Caller, badTimeout?: Violation): void => {
    try {
      const encoding = messageEncoding(call.requestHeaders, protocol);
      call.identify(pipeline, caller);
      const bounds = {
        declared: call.requestHeaders["content-length"],
        limit: maxBodyBytes,
        overhead: frameHeaderBytes,
        timed: true,
        isGone: call.isGone,
        owner: call,
        slices,
      };
      collectBody(call.stream, bounds, (body, share) => {
        if (body instanceof ServiceError) return refuse(call, body);
        call.body = share;
        call.bodyRead = true;
        const message = messageIn(body, encoding, protocol, maxBodyBytes, call);
        if (!(message instanceof Promise)) return accept(call, route, caller, message, badTimeout);
        message.then(
          (known) => accept(call, route, caller, known, badTimeout),
          (cause: unknown) => refuse(call, cause),
        );
      });
    } catch (cause) {
      refuse(call, cause);
    }
  };

  const serve = (opened: OpenedStream, route: RpcRoute): void => {
    const { stream, headers } = opened;
    // A stream that breaks off is noticed by its end; without a listener the error would end the process.
    stream.on("error", () => undefined);
    const timeout = timeoutOf(grpcWire, headers);
    const badTimeout = typeof timeout === "object" ? timeout : undefined;
    const call = new GrpcCall(route.method, opened, clock, typeof timeout === "number" ? timeout : undefined);
    try {
      const caller = pipeline.authenticate(call);
      if (caller instanceof Promise) {
        caller.then((known) => read(call, route, known, badTimeout)).catch((cause: unknown) => fail(call, cause));
      } else read(call, route, caller, badTimeout);
    } catch (cause) {
      fail(call, cause);
    }
  };

  return (opened) => {
    const { stream, headers } = opened;
    const type = headers["content-type"];
    if (type !== "application/grpc+proto" && type !== "application/grpc") return false;
    if (headers[":method"] !== "POST" || headers.expect !== undefined) return false;
    const route = routes.get(headers[":path"] ?? "");
    if (route === undefined) return false;
    try {
      serve(opened, route);
    } catch (fault) {
      observer.fault("none", fault);
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
    return true;
  };
};
