import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { PermissionIds } from "../access/permissions.ts";
import { unseenBy } from "../access/unseen.ts";
import { call } from "../calls/call.ts";
import { requestKey } from "../calls/requestKey.ts";
import { type Query, type QueryOptions, useLoad } from "./useLoad.ts";

export interface ProcedureOptions extends QueryOptions {
  /** Ids of the objects that the request names: `{ api_id: "api_…" }`. */
  readonly ids?: PermissionIds;
}

/** Asks a procedure, and keeps asking as `useLoad` does. */
export const useQuery = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
  { ids = {}, ...options }: ProcedureOptions = {},
): Query<MessageShape<Output>> =>
  useLoad(requestKey(method, request), (callOptions) => call(method, request, callOptions), {
    ...options,
    unseen: unseenBy(method, { ids, request }),
  });
