import type { EndSessionRequestSchema, EndSessionResponseSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import type { Procedure } from "../../calls/call.ts";
import { actingFor, type ConsoleDeps, liveOf, visitOf } from "./consoleDeps.ts";

/** Ends one of the sessions of the caller's root key or person. 404 `console_session_not_found` for every other (console §2.3). */
export const endSession =
  ({ sessions }: ConsoleDeps): Procedure<typeof EndSessionRequestSchema, typeof EndSessionResponseSchema> =>
  async ({ sessionId }, call) => {
    const { session: own, holder } = liveOf(call);
    const found = await sessions.findOf(holder, sessionId, call.receivedAt, call);
    if (found === undefined || !(await sessions.end({ session: found, holder }, actingFor(holder, call)))) {
      throw new ServiceError("console_session_not_found", `There is no session ${sessionId} of yours.`);
    }
    if (sessionId === own._id) visitOf(call).takeCookie();
    return { data: {} };
  };
