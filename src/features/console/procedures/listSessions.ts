import type { ListSessionsRequestSchema, ListSessionsResponseSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { type ConsoleDeps, liveOf } from "./consoleDeps.ts";

/** The sessions of the caller's root key or person, the latest 100, latest first (console §2.1). */
export const listSessions =
  ({ sessions }: ConsoleDeps): Procedure<typeof ListSessionsRequestSchema, typeof ListSessionsResponseSchema> =>
  async (_request, call) => {
    const own = liveOf(call);
    const all = await sessions.listOf(own.holder, call.receivedAt, call);
    return {
      data: all.map(({ _id, address, userAgent, createdAt, lastUsedAt }) => ({
        sessionId: _id,
        current: _id === own.session._id,
        ...(address === undefined ? {} : { address }),
        ...(userAgent === undefined ? {} : { userAgent }),
        createdAt: BigInt(createdAt),
        lastUsedAt: BigInt(lastUsedAt),
      })),
    };
  };
