import { setTimeout as sleep } from "node:timers/promises";
import type * as Openid from "openid-client";
import type { Clock } from "../../../platform/base/clock.ts";
import { type Person, personId } from "../../../platform/base/person.ts";
import { claimName, claimValues } from "../../../platform/config/permissionMapping.ts";
import type { OidcSettings } from "./oidcSettings.ts";
import type { Round } from "./roundSealer.ts";

/** For each request to the provider. */
const TIMEOUT_SECONDS = 5;
/** Waits between the attempts to find out the provider's addresses, in ms. */
const RETRY_AFTER_MS = [200, 800] as const;
/** For how long they hold, in ms. */
const KNOWN_FOR_MS = 3_600_000;
/** For how long a provider that is away is not asked again, in ms: anybody may begin a round. */
const AWAY_FOR_MS = 5_000;
const MOST_NAME = 255;
/** Of the `personId`: so long may the actor be for whom the audit log is searched. */
const MOST_ID = 255;

/** Whom the provider says that somebody is. */
export interface Identity {
  readonly person: Person;
  /** When they last proved it to the provider, Unix seconds; undefined: it does not say. */
  readonly authTime: number | undefined;
}

/**
 * Why nobody was identified. `away`: the provider does not answer, or not as one, or says that it is in trouble; `denied`: it says that
 * the person may not, or did not want to; `refused`: what came back does not stand, or the provider does not take what it was sent. The
 * message is for the log, and holds no code, token or claim.
 */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
  readonly kind: "away" | "denied" | "refused";
  constructor(kind: ProviderFailure["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The OpenID Connect provider. Both fail with `ProviderFailure`. */
export interface IdentityProvider {
  /** Where to send the browser. @param isAgain whoever is signed in there has to prove it again. */
  readonly authorizationUrl: (round: Round, isAgain: boolean) => Promise<string>;
  /** Redeems the code that the browser came back with. @param query of the request, from the `?` on; "" for none. */
  readonly identify: (query: string, round: Round) => Promise<Identity>;
}

/** Nothing of an error but its own words: its causes hold what was sent and received. */
const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown error";
  const told = ["code", "error", "error_description"].map((name): unknown => Reflect.get(error, name));
  const cause = error.cause instanceof Error && "code" in error.cause ? error.cause.code : undefined;
  return [error.message, ...told, cause].filter((word) => typeof word === "string" && word !== "").join(", ");
};

const statusOf = (error: unknown): number => {
  if (!(error instanceof Error)) return 0;
  if ("status" in error && typeof error.status === "number") return error.status;
  return error.cause instanceof Response ? error.cause.status : 0;
};

/** It was not reached, or is in trouble. */
const isAway = (error: unknown): boolean => {
  const isUnanswered = error instanceof TypeError && error.message === "fetch failed";
  const isLate = error instanceof Error && "code" in error && (error.code === "OAUTH_TIMEOUT" || error.code === "OAUTH_ABORT");
  return isUnanswered || isLate || statusOf(error) >= 500 || statusOf(error) === 429;
};

/** By the error code with which the provider sends a browser back (RFC 6749 §4.1.2.1, and those of OpenID Connect); others: `refused`. */
const kindsByCode: ReadonlyMap<unknown, ProviderFailure["kind"]> = new Map([
  ["access_denied", "denied"],
  ["login_required", "denied"],
  ["interaction_required", "denied"],
  ["consent_required", "denied"],
  ["account_selection_required", "denied"],
  ["server_error", "away"],
  ["temporarily_unavailable", "away"],
]);

const asFailure = (error: unknown): ProviderFailure => {
  if (error instanceof ProviderFailure) return error;
  if (!(error instanceof Error && error.name === "AuthorizationResponseError" && "error" in error))
    return new ProviderFailure(isAway(error) ? "away" : "refused", wordsOf(error));
  const kind = kindsByCode.get(error.error) ?? "refused";
  // Nothing else of the address where it does not count: anybody could fill the log with it.
  return new ProviderFailure(kind, kind === "away" ? `the provider sends people back with ${error.error}` : wordsOf(error));
};

const nameOf = (claims: Readonly<Record<string, unknown>>): string | undefined =>
  [claims.name, claims.preferred_username, claims.email]
    .find((value): value is string => typeof value === "string" && value.trim() !== "")
    ?.trim()
    .slice(0, MOST_NAME)
    .toWellFormed();

/** Nothing is asked, and no library loaded, before somebody wants to sign in: the service starts without its provider. */
export const createIdentityProvider = (settings: OidcSettings, clock: Pick<Clock, "monotonic">): IdentityProvider => {
  const { issuer, clientId, clientSecret, mapping } = settings;
  const isPlain = new URL(issuer).protocol === "http:";

  /** By the secret in the body where the provider takes it so, as not all read the header alike; else in the header, which is the default. */
  const authenticate =
    ({ ClientSecretBasic, ClientSecretPost }: typeof Openid): Openid.ClientAuth =>
    (server, ...rest) => {
      const isPosted = server.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true;
      (isPosted ? ClientSecretPost : ClientSecretBasic)(clientSecret.reveal())(server, ...rest);
    };

  const discover = async (openid: typeof Openid): Promise<Openid.Configuration> => {
    const { allowInsecureRequests, enableNonRepudiationChecks } = openid;
    const execute = [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])];
    for (let attempt = 0; ; attempt++) {
      try {
        return await openid.discovery(new URL(issuer), clientId, undefined, authenticate(openid), { timeout: TIMEOUT_SECONDS, execute });
      } catch (error) {
        const wait = RETRY_AFTER_MS[attempt];
        if (wait === undefined) throw new ProviderFailure("away", `the provider ${issuer} cannot be used: ${wordsOf(error)}`);
        await sleep(wait, undefined, { ref: false });
      }
    }
  };

  interface Known {
    readonly openid: typeof Openid;
    readonly config: Openid.Configuration;
  }
  let known: Promise<Known> | undefined;
  let goodUntil = 0;

  /** All who want to know at the same time share one look. */
  const know = (): Promise<Known> => {
    if (known !== undefined && clock.monotonic() < goodUntil) return known;
    // The first sign-in loads it: most services do not use OpenID Connect.
    const asked = import("openid-client").then(async (openid) => ({ openid, config: await discover(openid) }));
    goodUntil = Number.POSITIVE_INFINITY;
    asked.then(
      () => {
        goodUntil = clock.monotonic() + KNOWN_FOR_MS;
      },
      () => {
        goodUntil = clock.monotonic() + AWAY_FOR_MS;
      },
    );
    known = asked;
    return asked;
  };

  return {
    authorizationUrl: async ({ state, nonce, verifier, redirectUri }, isAgain) => {
      const { openid, config } = await know();
      return openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: ["openid", ...mapping.scopes].join(" "),
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...(isAgain ? { max_age: "0", prompt: "login" } : {}),
      }).href;
    },
    identify: async (query, { redirectUri, state, nonce, verifier }) => {
      const { openid, config } = await know();
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
        const tokens = await openid.authorizationCodeGrant(config, new URL(redirectUri + query), checks);
        const claims = tokens.claims();
        if (claims === undefined) throw new ProviderFailure("refused", "there is no ID token");
        const { iss: issuer, sub: subject, auth_time: authTime } = claims;
        if (personId({ issuer, subject }).length > MOST_ID)
          throw new ProviderFailure("refused", "issuer and subject are too long together");
        let told: Readonly<Record<string, unknown>> = claims;
        let values = claimValues(mapping, claims);
        // Many providers tell of groups and profiles there only.
        if (values === undefined && config.serverMetadata().userinfo_endpoint !== undefined) {
          const userInfo = await openid.fetchUserInfo(config, tokens.access_token, subject);
          told = { ...userInfo, ...claims };
          values = claimValues(mapping, told);
        }
        const name = nameOf(told);
        const person = {
          issuer,
          subject,
          claim: claimName(mapping),
          values: values ?? [],
          ...(name === undefined ? {} : { name }),
        };
        return { person, authTime };
      } catch (error) {
        throw asFailure(error);
      }
    },
  };
};
