import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import type { Violation } from "../../platform/base/errors.ts";
import type { Call } from "./call.ts";

/** A procedure as the pipeline calls it: the edges have made sure that the message is of the method's input type. */
export interface AnyProcedure {
  (request: Message, call: Call): Promise<object> | object;
  readonly judge?: (request: Message, now: number) => readonly Violation[];
}
export type ProcedureTable = ReadonlyMap<DescMethodUnary, AnyProcedure>;
