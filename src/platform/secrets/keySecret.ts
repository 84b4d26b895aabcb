import { hash } from "node:crypto";
import { base58 } from "@scure/base";
import { type DrawBytes, drawRandom, type Secret, secret } from "./secret.ts";

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** A new secret of an API key, and what may be stored and shown of it (keys §1.1). */
export interface KeySecret {
  /** The key itself: `<prefix>_<base58>`, or the bare base58. */
  readonly key: Secret;
  /** Base64 SHA-256 of the key. */
  readonly hash: string;
  /** The prefix with its `_` and the first four characters of the secret part. */
  readonly start: string;
  /** The last four characters of the key. */
  readonly lastFour: string;
}

/** Base64 SHA-256 of the UTF-8 bytes of a key, 44 characters: the form in which secrets are stored and looked up. */
export const hashKey = (key: string): string => hash("sha256", key, "base64");

/** What the secret of an API key is made of beside its bytes. */
export interface KeySecretForm {
  /** 16–255. */
  readonly byteLength: number;
  /** 1–16 characters; may hold `_`. */
  readonly prefix?: string | undefined;
}

/** Makes a secret in base58 with the Bitcoin alphabet; each leading zero byte is a `1`. */
export const createKeySecret = ({ byteLength, prefix }: KeySecretForm, draw: DrawBytes = drawRandom): KeySecret => {
  const secretPart = base58.encode(draw(byteLength, "secret:"));
  const head = prefix === undefined ? "" : `${prefix}_`;
  const key = head + secretPart;
  return { key: secret(key), hash: hashKey(key), start: head + secretPart.slice(0, 4), lastFour: key.slice(-4) };
};

/** 16 bytes are shorter than this in base58 once in a thousand times, and never by much. */
const LEAST_SECRET_PART = 20;
const SECRET = new RegExp(`^(?:.{1,16}_)?[${BASE58}]{${LEAST_SECRET_PART},}$`, "su");

/** Whether a text has the form of a key's secret: a prefix or none, and so many characters of base58. A name may have it, too. */
export const looksLikeKeySecret = (text: string): boolean => SECRET.test(text);
