import { addFields } from "../../../http/headerFields.ts";
import type { FindCaller } from "../../incomingCall.ts";
import { createDescribeError } from "../../wire/connectError.ts";
import { gzip } from "../../wire/frame.ts";
import { type Wire, wantsGzip } from "../../wire/protocolWire.ts";
import { rpcMessages } from "../../wire/rpcMessages.ts";
import type { RpcRoute } from "../../wire/rpcRoutes.ts";
import type { RpcEdgeOptions } from "../edgeOptions.ts";
import type { HttpCall } from "../httpCall.ts";
import { type ServeUnary, serveUnary } from "../serveUnary.ts";
import { answerError, answerMessage, type Beside } from "./rpcAnswer.ts";

interface ServeWireOptions<C extends HttpCall> extends Omit<RpcEdgeOptions, "routes" | "findCaller"> {
  readonly findCaller: FindCaller<C>;
}

/** Serves calls that come as requests of node:http in one wire. */
export const serveWire = <C extends HttpCall>(options: ServeWireOptions<C>, wire: Wire): ServeUnary<C, RpcRoute> => {
  const describeError = options.describeError ?? createDescribeError(options.errorsBaseUrl);
  const inTrailers = wire.protocol.name === "grpc";
  const besideOf = ({ requestId, headers, trailers }: HttpCall): Beside => ({
    headers: addFields({ "x-request-id": requestId }, headers),
    trailers,
  });
  return serveUnary(options, {
    ...rpcMessages(wire, options.maxBodyBytes),
    findCaller: options.findCaller,
    answer: (call: C, _route, bytes) => {
      const { res, requestHeaders } = call;
      if (!wantsGzip(wire, requestHeaders, bytes)) return void answerMessage(res, wire, bytes, false, besideOf(call));
      return gzip(bytes).then((compressed) => answerMessage(res, wire, compressed, true, besideOf(call)));
    },
    answerFailure: (call, _route, error) => {
      const { res, requestId, bodyRead } = call;
      answerError(res, wire, describeError(error, requestId, inTrailers), bodyRead, besideOf(call));
    },
  });
};
