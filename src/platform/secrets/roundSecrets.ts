import { randomBytes } from "node:crypto";

/** What one round of signing in by OpenID Connect is told from all others by. */
export interface RoundSecrets {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
}

/** 32 bytes from a CSPRNG each, base64url: 43 characters. */
const random = (): string => randomBytes(32).toString("base64url");

export const createRoundSecrets = (): RoundSecrets => ({ state: random(), nonce: random(), verifier: random() });
