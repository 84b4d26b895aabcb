import { create, type DescMessage } from "@bufbuild/protobuf";
import type { Decoded } from "../../codec/decoded.ts";
import type { EdgeCall } from "../edges/edgeCall.ts";
import type { UnaryParts } from "../edges/serveUnary.ts";
import { frameHeaderBytes } from "./frame.ts";
import type { Wire } from "./protocolWire.ts";
import type { MessageForm, RpcRoute } from "./rpcRoutes.ts";
import { messageEncoding, type Unwrapped, unwrapMessage } from "./unwrapMessage.ts";

type RpcMessages = Pick<UnaryParts<EdgeCall, RpcRoute, Uint8Array>, "checkHead" | "overhead" | "decode" | "encode">;

/** How the messages of calls over RPC are read and made, however their answers are written. `maxBodyBytes` holds after decompression, too. */
export const rpcMessages = ({ protocol, binary }: Wire, maxBodyBytes: number): RpcMessages => {
  const formOf = (route: RpcRoute): MessageForm => (binary ? route.binary : route.json);
  const read = (call: EdgeCall, route: RpcRoute, unwrapped: Unwrapped): Decoded<DescMessage> | Promise<Decoded<DescMessage>> =>
    "bytes" in unwrapped
      ? formOf(route).read(unwrapped.bytes, call)
      : { message: create(route.method.input), violations: [unwrapped.violation] };
  return {
    checkHead: (call) => void messageEncoding(call.requestHeaders, protocol),
    overhead: protocol.framed ? frameHeaderBytes : 0,
    decode: (call, route, body) => {
      const unwrapped = unwrapMessage(body, messageEncoding(call.requestHeaders, protocol), protocol, maxBodyBytes, call);
      return unwrapped instanceof Promise ? unwrapped.then((known) => read(call, route, known)) : read(call, route, unwrapped);
    },
    encode: (call, route, response) => formOf(route).write(response, call),
  };
};
