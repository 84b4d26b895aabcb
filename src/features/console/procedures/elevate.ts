import type { ElevateRequestSchema, ElevateResponseSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { actingFor, type ConsoleDeps, findSigner, liveOf, visitOf } from "./consoleDeps.ts";
import { showSession } from "./showSession.ts";

/** Takes the session's own root key again; its failures count with those of signing in (console §2.4). */
export const elevate =
  (deps: ConsoleDeps): Procedure<typeof ElevateRequestSchema, typeof ElevateResponseSchema> =>
  async ({ rootKey: secret }, call) => {
    const visit = visitOf(call);
    const live = liveOf(call);
    const { receivedAt: now, correlationId, userAgent, signal } = call;
    const holder = await deps.guard(
      {
        visit,
        now,
        event: "console.elevate_failed",
        display: `Failed to elevate session ${live.session._id} of the console`,
        correlationId,
        userAgent,
        signal,
        behalf: call,
      },
      async () => {
        const found = await findSigner(deps, secret, call);
        return found?.id === live.holder.id ? found : undefined;
      },
    );
    const elevated = await deps.sessions.elevate({ ...live, holder }, actingFor(holder, call));
    visit.giveCookie(elevated.token);
    return { data: showSession(elevated.live, deps.sessions.bounds, now) };
  };
