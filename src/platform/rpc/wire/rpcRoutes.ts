import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { messageReader, messageWriter, type WriteBinary } from "../../codec/binary/binaryForm.ts";
import { jsonReader, jsonWriter, type Read } from "../../codec/json/jsonForm.ts";
import { unaryMethods } from "../edges/unaryMethods.ts";

/** How the messages of a procedure are read and written in one of their two forms. */
export interface MessageForm {
  readonly read: Read;
  readonly write: WriteBinary;
}

/** Everything that serving a procedure over RPC needs, worked out once. */
export interface RpcRoute {
  readonly method: DescMethodUnary;
  readonly binary: MessageForm;
  readonly json: MessageForm;
}

/** Routes of every unary procedure by its exact path, `/<package>.<Service>/<Procedure>`. */
export type RpcRoutes = ReadonlyMap<string, RpcRoute>;

const compileRoute = (method: DescMethodUnary): RpcRoute => {
  const { input, output } = method;
  const writeJson = jsonWriter(output, "protobuf");
  return {
    method,
    binary: { read: messageReader(input), write: messageWriter(output) },
    json: {
      read: jsonReader(input, "protobuf"),
      write: (response, writer) => {
        const text = writeJson(response, writer);
        return typeof text === "string" ? Buffer.from(text) : text.then((chunks) => Buffer.concat(chunks));
      },
    },
  };
};

export const compileRpcRoutes = (services: readonly DescService[]): RpcRoutes => {
  return new Map(unaryMethods(services).map((method) => [`/${method.parent.typeName}/${method.name}`, compileRoute(method)]));
};
