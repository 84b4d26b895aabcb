import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { type Caller, compileGrants } from "../../../platform/authorization/authorization.ts";
import type { FindCaller } from "../../../platform/rpc/incomingCall.ts";
import type { Visit } from "../../../platform/rpc/visit.ts";
import type { Sessions } from "../createSessions.ts";
import type { ConsoleCall } from "./consoleCall.ts";

const { signIn, signOut } = ConsoleService.method;

const nothing = compileGrants([]);

/** Somebody without a session; each address has its own share of everything. */
export const strangerFrom = ({ network }: Visit): Caller => ({
  rootKeyId: `address ${network}`,
  name: undefined,
  expires: undefined,
  grants: nothing,
  isStranger: true,
});

/** Who calls, by the session in the cookie (console §1). Signing in and out is for everybody: their caller may do nothing. */
export const sessionCaller =
  ({ callerOf }: Pick<Sessions, "callerOf">): FindCaller<ConsoleCall> =>
  (call) =>
    call.method === signIn || call.method === signOut ? strangerFrom(call.visit) : callerOf(call.visit, call.receivedAt, call);
