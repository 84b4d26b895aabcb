import { type DescMethodUnary, type DescService, getOption } from "@bufbuild/protobuf";
import { no_store, problem_json, rate_limited_json } from "../../../../../gen/latchkey/v2/options_pb.ts";
import { jsonReader, jsonWriter, type Read, type WriteJson } from "../../../codec/json/jsonForm.ts";
import { procedureName } from "../../procedureName.ts";
import { unaryMethods } from "../unaryMethods.ts";
import type { ErrorMediaTypes } from "./mediaType.ts";

/** Everything that serving a procedure on `/v2` needs, worked out once. */
export interface Route extends ErrorMediaTypes {
  readonly method: DescMethodUnary;
  readonly read: Read;
  readonly write: WriteJson;
  /** Headers of every success, names and values in turns. */
  readonly successHeaders: readonly string[];
}

const compileRoute = (method: DescMethodUnary): Route => ({
  method,
  read: jsonReader(method.input, "v2"),
  write: jsonWriter(method.output, "v2"),
  successHeaders: ["Content-Type", "application/json", ...(getOption(method, no_store) ? ["Cache-Control", "no-store"] : [])],
  problemJson: getOption(method, problem_json),
  rateLimitedJson: getOption(method, rate_limited_json),
});

/** Routes of every unary procedure by its exact path, `/v2/<namespace>.<procedure>`. */
export const compileRoutes = (services: readonly DescService[]): ReadonlyMap<string, Route> => {
  return new Map(unaryMethods(services).map((method) => [`/v2/${procedureName(method)}`, compileRoute(method)]));
};
