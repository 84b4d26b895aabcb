import { crc32 } from "node:zlib";
import { hashKey } from "./keySecret.ts";
import { type DrawBytes, drawRandom, type Secret, secret } from "./secret.ts";

/** Root keys (protocol §7): `lkr_`, 32 base62 characters from a CSPRNG, 6 base62 characters of the CRC32 of those 32. */
const PREFIX = "lkr_";
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const LENGTH = PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const checksum = (body: string): string => {
  let rest = crc32(body);
  let text = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = (BASE62[rest % 62] as string) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
};

export interface RootKeySecret {
  readonly key: Secret;
  /** Base64 SHA-256 of the root key. */
  readonly hash: string;
  /** `lkr_` and the first four characters. */
  readonly start: string;
  /** The last four characters. */
  readonly end: string;
}

/** 256 random bits for 32 characters of 6 bits each: no character is likelier than another, to one part in 2^66. */
const BYTES = 32;

/** Makes a secret. */
export const createRootKeySecret = (draw: DrawBytes = drawRandom): RootKeySecret => {
  let rest = BigInt(`0x${Buffer.from(draw(BYTES, "root key:")).toString("hex")}`);
  let body = "";
  for (let i = 0; i < RANDOM_LENGTH; i++) {
    body += BASE62[Number(rest % 62n)];
    rest /= 62n;
  }
  const key = PREFIX + body + checksum(body);
  return { key: secret(key), hash: hashKey(key), start: key.slice(0, PREFIX.length + 4), end: key.slice(-4) };
};

/** False for a text that cannot be a root key, a mistyped one included: it needs no look-up. */
export const looksLikeRootKey = (text: string): boolean =>
  text.length === LENGTH &&
  text.startsWith(PREFIX) &&
  checksum(text.slice(PREFIX.length, PREFIX.length + RANDOM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
