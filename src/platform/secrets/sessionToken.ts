import { randomBytes } from "node:crypto";
import { hashKey } from "./keySecret.ts";
import { type Secret, secret } from "./secret.ts";

/** The token of a session of the console (console §2.1). */
export interface SessionToken {
  /** 32 bytes from a CSPRNG, base64url: 43 characters. */
  readonly token: Secret;
  /** Base64 SHA-256 of the token's text. */
  readonly hash: string;
}

const BYTES = 32;

export const createSessionToken = (): SessionToken => {
  const text = randomBytes(BYTES).toString("base64url");
  return { token: secret(text), hash: hashKey(text) };
};

/** False for a text that cannot be a token: it needs no look-up. */
export const looksLikeSessionToken = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);
