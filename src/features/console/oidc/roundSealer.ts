import { hkdfSync } from "node:crypto";
import { createKeyRing } from "../../../platform/secrets/keyRing.ts";
import { type Secret, secret } from "../../../platform/secrets/secret.ts";
import type { OidcSettings } from "./oidcSettings.ts";

/** How long the provider has to send somebody back, in ms (console §2.5). */
export const ROUND_MS = 600_000;

const OWNER = "round of signing in";
const KEY_ID = "round";

/** The session that somebody wants to elevate, by the token that they had then. */
export interface ElevatedSession {
  readonly sessionId: string;
  readonly hash: string;
  /** The `personId` of whose it is. */
  readonly holderId: string;
}

/**
 * One way to the provider and back: what has to be known when somebody returns. It is in a cookie of their browser and nowhere
 * else, so that any node goes on with it, and strangers who begin many cost no memory.
 */
export interface Round {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  readonly redirectUri: string;
  /** Where to go then, on the console. */
  readonly next: string;
  /** Unix ms. */
  readonly startedAt: number;
  /** Of the session that this opens: no other round has it, so one that is repeated finds it taken. */
  readonly sessionId: string;
  /** Undefined: it opens one. */
  readonly elevates?: ElevatedSession | undefined;
}

/** Encrypts rounds under a key that all nodes have in common. */
export interface RoundSealer {
  readonly seal: (round: Round) => Secret;
  /** Undefined for what was not sealed with the same settings, or more than 10 minutes before `now`. */
  readonly open: (sealed: Secret, now: number) => Round | undefined;
}

export const createRoundSealer = ({ issuer, clientId, clientSecret }: OidcSettings): RoundSealer => {
  const key = Buffer.from(hkdfSync("sha256", clientSecret.reveal(), JSON.stringify([issuer, clientId]), OWNER, 32));
  const ring = createKeyRing([{ id: KEY_ID, key }]);
  return {
    seal: (round) => secret(ring.encrypt(JSON.stringify(round), OWNER).ciphertext),
    open: (sealed, now) => {
      try {
        const round = JSON.parse(ring.decrypt({ keyId: KEY_ID, ciphertext: sealed.reveal() }, OWNER)) as Round;
        return now - round.startedAt < ROUND_MS ? round : undefined;
      } catch {
        return undefined;
      }
    },
  };
};
