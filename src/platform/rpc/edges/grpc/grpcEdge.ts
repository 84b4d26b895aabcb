import { constants, type OutgoingHttpHeaders } from "node:http2";
import { answerStreamEarly, isLong, swallowStream } from "../../../http/drain.ts";
import type { StreamHandler } from "../../../http/handlers.ts";
import { addFields } from "../../../http/headerFields.ts";
import { createDescribeError } from "../../wire/connectError.ts";
import { compressedFlag, errorTrailers, frame, gzip, okTrailers } from "../../wire/frame.ts";
import { grpcWire, timeoutOf, wantsGzip } from "../../wire/protocolWire.ts";
import { rpcMessages } from "../../wire/rpcMessages.ts";
import type { RpcEdgeOptions } from "../edgeOptions.ts";
import { serveUnary } from "../serveUnary.ts";
import { GrpcCall } from "./grpcCall.ts";

/** Writes head, message and trailers of an answer. */
const send = (call: GrpcCall, message: Buffer | undefined, trailers: OutgoingHttpHeaders, encoding?: string): void => {
  const { stream } = call;
  const head: OutgoingHttpHeaders = { ":status": 200, "content-type": grpcWire.contentType };
  if (encoding !== undefined) head[grpcWire.protocol.encodingHeader] = encoding;
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

/**
 * Unary gRPC in its binary form (grpc §1) straight on HTTP/2 streams: most internal calls come this way, and node's
 * compatibility API and Protobuf reflection took two thirds of their time. Everything else of RPC, also what is wrong
 * with a request's address or content type, is left to the Connect edge, which answers alike.
 */
export const createGrpcEdge = (options: RpcEdgeOptions): StreamHandler => {
  const { clock, observer, routes, findCaller, maxBodyBytes } = options;
  const describeError = options.describeError ?? createDescribeError(options.errorsBaseUrl);

  const serve = serveUnary(options, {
    ...rpcMessages(grpcWire, maxBodyBytes),
    findCaller,
    answer: (call: GrpcCall, _route, bytes) => {
      if (!wantsGzip(grpcWire, call.requestHeaders, bytes)) return void send(call, frame(0, bytes), okTrailers);
      return gzip(bytes).then((compressed) => {
        if (!call.isGone) send(call, frame(compressedFlag, compressed), okTrailers, "gzip");
      });
    },
    answerFailure: (call, _route, error) => send(call, undefined, errorTrailers(describeError(error, call.requestId, true))),
  });

  return (opened) => {
    const { stream, headers } = opened;
    const type = headers["content-type"];
    if (type !== "application/grpc+proto" && type !== "application/grpc") return false;
    if (headers[":method"] !== "POST" || headers.expect !== undefined) return false;
    const route = routes.get(headers[":path"] ?? "");
    if (route === undefined) return false;
    try {
      serve(new GrpcCall(route.method, opened, clock, timeoutOf(grpcWire, headers)), route);
    } catch (fault) {
      observer.fault("none", fault);
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
    return true;
  };
};
