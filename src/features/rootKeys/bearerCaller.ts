import type { FindCaller, IncomingCall } from "../../platform/rpc/incomingCall.ts";
import type { Authenticator } from "./authenticator.ts";

/** Who calls, by the root key in the header `Authorization` (protocol §7). At once when the root key is cached. */
export const bearerCaller =
  ({ authenticate }: Pick<Authenticator<IncomingCall>, "authenticate">): FindCaller =>
  (call) =>
    authenticate(call.authorization, call.receivedAt, call);
