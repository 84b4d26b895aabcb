import type { GetSessionRequestSchema, GetSessionResponseSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { type ConsoleDeps, liveOf } from "./consoleDeps.ts";
import { showSession } from "./showSession.ts";

/** The caller's session; asking for it is no use of it (console §2.1). */
export const getSession =
  ({ sessions }: ConsoleDeps): Procedure<typeof GetSessionRequestSchema, typeof GetSessionResponseSchema> =>
  (_request, call) => ({ data: showSession(liveOf(call), sessions.bounds, call.receivedAt) });
