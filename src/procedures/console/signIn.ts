import type { SignInRequestSchema, SignInResponseSchema } from "../../../gen/latchkey/console/v1/console_pb.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Procedure } from "../shared/call.ts";
import { actingFor, type ConsoleDeps, findSigner, visitOf } from "../shared/console/consoleDeps.ts";
import { showSession } from "../shared/console/showSession.ts";

/** Exchanges a root key for a session, whose token is in a cookie (console §2.1, §2.2, §2.7). */
export const signIn =
  (deps: ConsoleDeps): Procedure<typeof SignInRequestSchema, typeof SignInResponseSchema> =>
  async ({ rootKey: secret }, call) => {
    const visit = visitOf(call);
    if (!visit.isPrivate) {
      const detail = "Signing in needs an encrypted connection: set TLS_CERT and TLS_KEY, or TRUSTED_PROXIES with X-Forwarded-Proto.";
      throw new ServiceError("console_request_refused", detail);
    }
    const { receivedAt: now, correlationId, userAgent, signal } = call;
    const rootKey = await deps.guard(
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
    const acting = actingFor(rootKey, call);
    const { token, live } = await deps.sessions.open(rootKey, call.newId("ses"), acting);
    if (signal.aborted) {
      // Nobody would ever have its token.
      await deps.sessions.end(live.session, rootKey, acting);
      signal.throwIfAborted();
    }
    visit.giveCookie(token);
    return { data: showSession(live, deps.sessions.bounds, now) };
  };
