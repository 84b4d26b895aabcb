import { hkdfSync, randomFillSync } from "node:crypto";

/** Kinds of ids (protocol §4), plus `ch` for entries of the changes feed and `node` for one process. */
export const idPrefixes = [
  "req",
  "key",
  "api",
  "id",
  "perm",
  "role",
  "rl",
  "rlns",
  "rlor",
  "rk",
  "log",
  "cor",
  "mig",
  "ses",
  "ch",
  "node",
] as const;
export type IdPrefix = (typeof idPrefixes)[number];

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const TIME_LENGTH = 8;
const RANDOM_LENGTH = 16;
/** Half of the random characters: so short a piece of a text is copied, and does not keep the whole text. */
const PIECE = RANDOM_LENGTH / 2;

const pool = Buffer.allocUnsafeSlow(8192);
let characters = "";
let next = 0;

/** Makes uniformly random characters of the alphabet; bytes that would bias them are left out. */
const drawCharacters = (): void => {
  randomFillSync(pool);
  let length = 0;
  for (const byte of pool) if (byte < 232) pool[length++] = ALPHABET.charCodeAt(byte % 58);
  characters = pool.toString("latin1", 0, length);
  next = 0;
};

const randomPiece = (): string => {
  if (next + PIECE > characters.length) drawCharacters();
  next += PIECE;
  return characters.slice(next - PIECE, next);
};

/** The first 8 characters of every id made at `time` (Unix ms): ids sort by time, bytewise. */
export const timePart = (time: number): string => {
  let text = "";
  let rest = Math.max(0, Math.floor(time));
  for (let i = 0; i < TIME_LENGTH; i++) {
    text = (ALPHABET[rest % 58] as string) + text;
    rest = Math.floor(rest / 58);
  }
  return text;
};

let latestTime = Number.NaN;
let latestTimePart = "";

/** When an id was made, Unix ms; undefined for what is none. */
export const timeOfId = (id: string): number | undefined => {
  const text = id.slice(id.indexOf("_") + 1, id.indexOf("_") + 1 + TIME_LENGTH);
  let time = 0;
  for (const character of text) time = time * 58 + ALPHABET.indexOf(character);
  return text.length === TIME_LENGTH && [...text].every((character) => ALPHABET.includes(character)) ? time : undefined;
};

/** `<prefix>_` + 8 characters that sort by time + 16 random ones from a CSPRNG (93 bits), base58. */
export const createId = (prefix: IdPrefix, now: number): string => {
  if (now !== latestTime) {
    latestTime = now;
    latestTimePart = timePart(now);
  }
  return `${prefix}_${latestTimePart}${randomPiece()}${randomPiece()}`;
};

const CHARACTERS = new RegExp(`^[${ALPHABET}]{${TIME_LENGTH + RANDOM_LENGTH}}$`);

/** What clients may rely on in an id of this kind (protocol §4), in characters. It is looser than how ids are made today. */
export const idBounds = (prefix: IdPrefix): { readonly minLength: number; readonly maxLength: number; readonly pattern: string } => ({
  minLength: prefix.length + 1 + RANDOM_LENGTH,
  maxLength: 255,
  pattern: `^${prefix}_[a-zA-Z0-9]+$`,
});

/** Whether a text has the form of an id of this kind. */
export const isId = (prefix: IdPrefix, text: string): boolean =>
  text.startsWith(`${prefix}_`) && CHARACTERS.test(text.slice(prefix.length + 1));

/** An id like those of `createId`, always the same for the same time, salt and label (at most 1024 bytes). */
export const deriveId = (prefix: IdPrefix, now: number, salt: Uint8Array, label: string): string => {
  // 256 bits for 16 characters of 5.9 bits each: no character is likelier than another.
  let rest = BigInt(`0x${Buffer.from(hkdfSync("sha256", salt, "", `${prefix}:${label}`, 32)).toString("hex")}`);
  let id = `${prefix}_${timePart(now)}`;
  for (let i = 0; i < RANDOM_LENGTH; i++) {
    id += ALPHABET[Number(rest % 58n)] as string;
    rest /= 58n;
  }
  return id;
};
