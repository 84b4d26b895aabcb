import type { SignInRequestSchema, SignInResponseSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { requirePrivate } from "../signInGuard.ts";
import { actingFor, type ConsoleDeps, findSigner, visitOf } from "./consoleDeps.ts";
import { showSession } from "./showSession.ts";

/** Exchanges a root key for a session, whose token is in a cookie (console §2.1, §2.2, §2.7). */
export const signIn =
  (deps: ConsoleDeps): Procedure<typeof SignInRequestSchema, typeof SignInResponseSchema> =>
  async ({ rootKey: secret }, call) => {
    const visit = visitOf(call);
    requirePrivate(visit);
    const { receivedAt: now, correlationId, userAgent, signal } = call;
    const holder = await deps.guard(
      {
        visit,
        now,
        event: "console.sign_in_failed",
        display: "Failed to sign in to the console",
        correlationId,
        userAgent,
        signal,
        behalf: call,
      },
      () => findSigner(deps, secret, call),
    );
    const acting = actingFor(holder, call);
    const { token, live } = await deps.sessions.open(holder, call.newId("ses"), acting);
    if (signal.aborted) {
      // Nobody would ever have its token.
      await deps.sessions.end(live, acting);
      signal.throwIfAborted();
    }
    visit.giveCookie(token);
    return { data: showSession(live, deps.sessions.bounds, now) };
  };
