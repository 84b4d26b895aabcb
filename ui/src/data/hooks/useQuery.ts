import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { call } from "../calls/call.ts";
import { requestKey } from "../calls/requestKey.ts";
import { type Query, type QueryOptions, useLoad } from "./useLoad.ts";

/** Asks a procedure, and keeps asking as `useLoad` does. */
export const useQuery = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
  options: QueryOptions = {},
): Query<MessageShape<Output>> => useLoad(requestKey(method, request), (callOptions) => call(method, request, callOptions), options);
