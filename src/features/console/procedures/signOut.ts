import type { SignOutRequestSchema, SignOutResponseSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { actingFor, type ConsoleDeps, visitOf } from "./consoleDeps.ts";

/** Ends the caller's session, if there is one, and takes its cookie back (console §2.3). */
export const signOut =
  ({ sessions }: ConsoleDeps): Procedure<typeof SignOutRequestSchema, typeof SignOutResponseSchema> =>
  async (_request, call) => {
    const visit = visitOf(call);
    const live = visit.isPrivate ? await sessions.find(visit.token, call.receivedAt, call) : undefined;
    if (live !== undefined) await sessions.end(live, actingFor(live.holder, call));
    visit.takeCookie();
    return { data: {} };
  };
