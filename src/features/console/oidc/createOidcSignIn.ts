import type { Behalf } from "../../../platform/base/behalf.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import { createId } from "../../../platform/base/ids.ts";
import { personId } from "../../../platform/base/person.ts";
import type { Holder, Visit } from "../../../platform/rpc/visit.ts";
import { createRoundSecrets } from "../../../platform/secrets/roundSecrets.ts";
import type { Secret } from "../../../platform/secrets/secret.ts";
import { DuplicateKeyError } from "../../../platform/storage/port/errors.ts";
import { type AuditSource, actorOf, resource } from "../../audit/auditEvent.ts";
import type { Acting, Sessions } from "../createSessions.ts";
import { isAuthenticatedSince } from "../elevation.ts";
import { holderOfPerson } from "../holders.ts";
import { type Attempt, requirePrivate, type SignInGuard } from "../signInGuard.ts";
import { type Identity, type IdentityProvider, ProviderFailure } from "./identityProvider.ts";
import type { OidcSettings } from "./oidcSettings.ts";
import type { Round, RoundSealer } from "./roundSealer.ts";

/** A request of somebody who signs in. */
export interface OidcVisit {
  readonly visit: Visit;
  /** Unix ms. */
  readonly now: number;
  readonly correlationId: string;
  readonly userAgent: string | undefined;
  readonly signal: AbortSignal;
  readonly behalf: Behalf;
}

/**
 * Why somebody who came back was not let in: `expired` the round is not theirs, is over or was used before; `away`, `denied`, `refused` as
 * of `ProviderFailure`; `unmapped` they may do nothing here; `stale` they did not prove again who they are; `other` they
 * are not whose session is to be elevated.
 */
export type OidcFailure = "expired" | ProviderFailure["kind"] | "unmapped" | "stale" | "other";

/** What became of a round, and where to go now. `elevates`: it was for a session that there is. `goesOn`: the cookie is another round's. */
export type OidcOutcome = {
  readonly next: string;
  readonly elevates: boolean;
  readonly goesOn?: true;
} & ({ readonly token: Secret } | { readonly failure: OidcFailure });

/** Signing in by OpenID Connect (console §2.4, §2.8). */
export interface OidcSignIn {
  /** Of the issuer: what people know the provider by. */
  readonly providerName: string;
  /**
   * Begins a round: where to send the browser, and what its cookie has to say when it comes back. Fails with 401
   * `console_session_required` when there is no session of a person that could be elevated, and with `ProviderFailure`.
   */
  readonly begin: (
    request: Pick<OidcVisit, "visit" | "now" | "behalf">,
    aim: { readonly next: string; readonly redirectUri: string; readonly elevates: boolean },
  ) => Promise<{ readonly location: string; readonly sealed: Secret }>;
  /**
   * Ends a round. Failures count with failed sign-ins; 429 as of `SignInGuard`.
   * @param sealed what the cookie says. @param query of the request, from the `?` on; "" for none.
   */
  readonly finish: (request: OidcVisit, sealed: Secret | undefined, query: string) => Promise<OidcOutcome>;
}

export interface OidcSignInOptions {
  readonly settings: OidcSettings;
  readonly provider: IdentityProvider;
  readonly sealer: RoundSealer;
  readonly sessions: Sessions;
  readonly guard: SignInGuard;
  /** Hears why the provider is of no use; the message holds no secret. */
  readonly onFailure: (failure: ProviderFailure) => void;
}

const noAuthTime =
  "sessions cannot be elevated: the ID token has no claim auth_time, which says when a person signed in; have the provider send it";

export const createOidcSignIn = (options: OidcSignInOptions): OidcSignIn => {
  const { settings, provider, sealer, sessions, guard, onFailure } = options;

  /** The session that this token may elevate. */
  const elevated = async (token: Secret | undefined, now: number, behalf: Behalf): Promise<Round["elevates"]> => {
    const live = await sessions.find(token, now, behalf);
    if (live?.holder.person === undefined || live.session.hash === undefined)
      throw new ServiceError("console_session_required", "There is no session of a person that could be elevated: sign in.");
    return { sessionId: live.session._id, hash: live.session.hash, holderId: live.holder.id };
  };

  /** @param resources what is known of whoever failed */
  const attemptOf = (request: OidcVisit, { elevates }: Round, why: string, resources: Attempt["resources"] = []): Attempt => ({
    ...request,
    event: elevates === undefined ? "console.sign_in_failed" : "console.elevate_failed",
    display: `Failed to ${elevates === undefined ? "sign in to" : `elevate session ${elevates.sessionId} of`} the console by OpenID Connect: ${why}`,
    resources,
  });

  /** Counts a failure. Fails with 429 when there were too many before. */
  const count = async (attempt: Attempt): Promise<void> => {
    try {
      await guard(attempt, async () => undefined);
    } catch (error) {
      if (!(error instanceof ServiceError && error.reason === "console_sign_in_failed")) throw error;
    }
  };

  const actingFor = (holder: Holder, { visit, now, correlationId, userAgent, behalf }: OidcVisit): Acting => {
    const actor = actorOf({ rootKeyId: holder.id, name: holder.name, isPerson: true });
    const source: AuditSource = { actor, correlationId, now, remoteIp: visit.address, userAgent };
    return { visit, source, behalf: { caller: behalf.caller } };
  };

  /** The token of the session; undefined when the round was used before, or the session to elevate is no more. */
  const openOrElevate = async (holder: Holder, { elevates, sessionId }: Round, request: OidcVisit): Promise<Secret | undefined> => {
    const acting = actingFor(holder, request);
    if (elevates === undefined) {
      try {
        const { token, live } = await sessions.open(holder, sessionId, acting);
        // Nobody would ever have its token.
        if (request.signal.aborted) await sessions.end(live, acting);
        request.signal.throwIfAborted();
        return token;
      } catch (error) {
        if (error instanceof DuplicateKeyError) return undefined;
        throw error;
      }
    }
    const session = await sessions.findOf(holder, elevates.sessionId, request.now, request.behalf);
    return session?.hash === elevates.hash ? (await sessions.elevate({ session, holder }, acting)).token : undefined;
  };

  return {
    providerName: new URL(settings.issuer).host,
    begin: async ({ visit, now, behalf }, { next, redirectUri, elevates }) => {
      requirePrivate(visit);
      const round: Round = {
        ...createRoundSecrets(),
        redirectUri,
        next,
        startedAt: now,
        sessionId: createId("ses", now),
        elevates: elevates ? await elevated(visit.token, now, behalf) : undefined,
      };
      try {
        return { location: await provider.authorizationUrl(round, elevates), sealed: sealer.seal(round) };
      } catch (error) {
        if (error instanceof ProviderFailure) onFailure(error);
        throw error;
      }
    },
    finish: async (request, sealed, query) => {
      const { visit, now } = request;
      requirePrivate(visit);
      const round = sealed && sealer.open(sealed, now);
      // Whoever has no round presents nothing that could be right: pages of others could make anybody fail so.
      if (round === undefined) return { failure: "expired", next: "/ui", elevates: false };
      // It was begun before this one, in another window: nobody has guessed, and this one may still come back.
      if (new URLSearchParams(query).get("state") !== round.state)
        return { failure: "expired", next: "/ui", elevates: false, goesOn: true };
      const end = { next: round.next, elevates: round.elevates !== undefined };
      const failed = async (failure: OidcFailure, why: string, ...resources: NonNullable<Attempt["resources"]>): Promise<OidcOutcome> => {
        await count(attemptOf(request, round, why, resources));
        return { ...end, failure };
      };
      await guard(attemptOf(request, round, ""), async () => true);
      let identity: Identity;
      try {
        identity = await provider.identify(query, round);
      } catch (error) {
        if (!(error instanceof ProviderFailure)) throw error;
        if (error.kind !== "denied") onFailure(error);
        // Nobody has guessed at anything.
        return error.kind === "away" ? { ...end, failure: "away" } : failed(error.kind, "the provider did not confirm who it was");
      }
      const { person, authTime } = identity;
      const who = resource("person", personId(person), person.name);
      if (round.elevates !== undefined && round.elevates.holderId !== who.id)
        return failed("other", "the session is another person's", who);
      const holder = holderOfPerson(settings, person);
      if (holder === undefined) return failed("unmapped", "OIDC_PERMISSIONS gives this person nothing", who);
      if (end.elevates && !isAuthenticatedSince(authTime, round.startedAt)) {
        if (authTime === undefined) onFailure(new ProviderFailure("refused", noAuthTime));
        return failed("stale", "the provider does not say that the person has signed in again", who);
      }
      const token = await openOrElevate(holder, round, request);
      if (token === undefined) return failed("expired", "it was used before, or the session is over");
      return { ...end, token };
    },
  };
};
