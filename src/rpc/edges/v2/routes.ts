import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { no_store, problem_json, rate_limited_json } from "../../../../gen/latchkey/v2/options_pb.ts";
import { oncePer } from "../../../util/oncePer.ts";
import { jsonReader, jsonWriter, type Read, type WriteJson } from "../../codec/json/jsonForm.ts";
import { optionOf } from "../../codec/optionOf.ts";
import { procedureName } from "../../pipeline/procedureName.ts";
import type { Slices } from "../../pipeline/slices.ts";
import { unaryMethods } from "../unaryMethods.ts";
import type { ErrorMediaTypes } from "./mediaType.ts";

/** Everything that serving a procedure on `/v2` needs, worked out once: what reads and writes its messages by the first call that needs it. */
export interface Route extends ErrorMediaTypes {
  readonly method: DescMethodUnary;
  readonly read: Read;
  readonly write: WriteJson;
  /** Headers of every success, names and values in turns. */
  readonly successHeaders: readonly string[];
}

/** What the options of a procedure say: the library reads each out of its bytes, every time. */
const describedBy = oncePer((method: DescMethodUnary) => ({
  successHeaders: ["Content-Type", "application/json", ...(optionOf(method, no_store) ? ["Cache-Control", "no-store"] : [])],
  problemJson: optionOf(method, problem_json),
  rateLimitedJson: optionOf(method, rate_limited_json),
}));

const compileRoute = (method: DescMethodUnary, slices: Slices): Route => {
  const { successHeaders, problemJson, rateLimitedJson } = describedBy(method);
  let read: Read | undefined;
  let write: WriteJson | undefined;
  return {
    method,
    get read() {
      read ??= jsonReader(method.input, "v2", slices);
      return read;
    },
    get write() {
      write ??= jsonWriter(method.output, "v2", slices);
      return write;
    },
    successHeaders,
    problemJson,
    rateLimitedJson,
  };
};

/** Routes of every unary procedure by its exact path, `/v2/<namespace>.<procedure>`. */
export const compileRoutes = (services: readonly DescService[], slices: Slices): ReadonlyMap<string, Route> => {
  return new Map(unaryMethods(services).map((method) => [`/v2/${procedureName(method)}`, compileRoute(method, slices)]));
};
