import type { DescMethodUnary, DescService, Registry } from "@bufbuild/protobuf";
import { type BinaryEncode, binaryEncoder } from "../codec/binaryEncoder.ts";
import { type Codec, compileCodec } from "../codec/compileCodec.ts";
import { unaryMethods } from "../unaryMethods.ts";

/** Everything that serving a procedure over RPC needs, worked out once. */
export interface RpcRoute {
  readonly method: DescMethodUnary;
  readonly request: Pick<Codec, "validate">;
  readonly encodeResponse: BinaryEncode;
  /** What an Any in its messages may hold, where they have one. */
  readonly registry?: Registry;
}

/** Routes of every unary procedure by its exact path, `/<package>.<Service>/<Procedure>`. */
export type RpcRoutes = ReadonlyMap<string, RpcRoute>;

export const compileRpcRoutes = (services: readonly DescService[]): RpcRoutes => {
  return new Map(
    unaryMethods(services).map((method) => [
      `/${method.parent.typeName}/${method.name}`,
      { method, request: compileCodec(method.input), encodeResponse: binaryEncoder(method.output) },
    ]),
  );
};
