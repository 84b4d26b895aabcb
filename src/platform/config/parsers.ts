import { isIP } from "node:net";
import { parseNetwork } from "../base/ipAllowlist.ts";
import { type EncryptionKey, parseEncryptionKeys } from "../secrets/keyRing.ts";

/** What a parser found: the value, or what a right one would look like. */
export type Parsed<T> = { readonly value: T } | { readonly expected: string };

/** Turns the text of a variable into its value. */
export type Parser<T> = (text: string) => Parsed<T>;

/** A variable and how its text is read; without a default it may stay unset. */
export interface Variable<T> {
  /** Parsed like a value from the environment. */
  readonly byDefault?: string;
  readonly description: string;
  readonly parse: Parser<T>;
  /** No message repeats what it is set to. */
  readonly isSecret?: true;
}

/** Variables by name. */
export type Variables = Readonly<Record<string, Variable<unknown>>>;

type ValueOf<V> = V extends { readonly parse: (text: string) => Parsed<infer T> }
  ? V extends { readonly byDefault: string }
    ? T
    : T | undefined
  : never;

/** Parsers of settings. */
export interface Reading {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The value of a variable; of one that is wrong, which has been noted, its default. Undefined where it has neither. */
  readonly read: <V extends Variables, N extends keyof V & string>(variables: V, name: N) => ValueOf<V[N]>;
  /** Sentences that name a setting, by any name. */
  readonly problems: Map<string, string>;
}

/** Whether only this machine reaches an address that a service listens on. */
export const isLoopback = (host: string): boolean => /^(localhost|127\..*|::1|\[::1\])$/i.test(host);

export const text = (value: string): Parsed<string> => ({ value });

export const host = (value: string): Parsed<string> =>
  isIP(value) !== 0 || /^(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(value)
    ? { value }
    : { expected: "an IP address or a host name without a port" };

export const integer =
  (min: number, max: number) =>
  (value: string): Parsed<number> => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? { value: number } : { expected: `a whole number from ${min} to ${max}` };
  };

/** `stale:<seconds>` as milliseconds; `deny` is 0. */
export const staleness: Parser<number> = (value) => {
  if (value === "deny") return { value: 0 };
  const seconds = /^stale:(\d{1,6})$/.exec(value)?.[1];
  const parsed = seconds === undefined ? undefined : integer(1, 86_400)(seconds);
  return parsed !== undefined && "value" in parsed
    ? { value: parsed.value * 1_000 }
    : { expected: "deny or stale:<seconds>, a whole number from 1 to 86400" };
};

export const oneOf =
  <T extends string>(values: readonly T[]) =>
  (value: string): Parsed<T> => {
    const found = values.find((candidate) => candidate === value);
    return found === undefined ? { expected: `one of ${values.join(", ")}` } : { value: found };
  };

export const mongodbUrl = (value: string): Parsed<string> =>
  /^mongodb(\+srv)?:\/\/([^\s/@]+@)?[^\s/@?#]+([/?][^\s@]*)?$/.test(value)
    ? { value }
    : { expected: "mongodb://[user:password@]host[:port][,…][/database][?options] or mongodb+srv://…, special characters percent-encoded" };

export const webUrl = (value: string): Parsed<string> => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const plain = url && /^https?:$/.test(url.protocol) && !/[?#@\s]/.test(value);
  return plain ? { value: value.replace(/\/+$/, "") } : { expected: "an http or https URL without credentials, query or fragment" };
};

/** An http(s) URL of scheme, host and port alone, as browsers write an origin. */
export const webOrigin = (value: string): Parsed<string> => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const right = url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !/[?#@\s]/.test(value);
  return right ? { value: url.origin } : { expected: "an http or https origin without a path, such as https://keys.example.com" };
};

export const encryptionKeys = (value: string): Parsed<readonly EncryptionKey[]> => {
  const keys = parseEncryptionKeys(value);
  return keys === undefined
    ? { expected: "id:key pairs separated by commas, newest first, each id once, each key the base64 of 32 bytes" }
    : { value: keys };
};

export const networks = (value: string): Parsed<readonly string[]> => {
  const list: string[] = [];
  for (const entry of value.split(",")) {
    const parsed = parseNetwork(entry.trim());
    if (parsed === undefined) return { expected: "IP addresses or networks such as 10.0.0.0/8, separated by commas" };
    list.push(parsed);
  }
  return { value: list };
};

const units: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** A size such as `512MiB` or `1GiB`, as bytes. */
export const bytes =
  (min: number): Parser<number> =>
  (value) => {
    const [, digits, unit = "B"] = /^(\d{1,13})(B|KiB|MiB|GiB)?$/.exec(value) ?? [];
    const number = Number(digits) * (units[unit] ?? Number.NaN);
    return number >= min && Number.isSafeInteger(number)
      ? { value: number }
      : { expected: `a size of at least ${min / 1024 ** 2}MiB, such as 512MiB or 1GiB` };
  };

/** An http(s) URL that may hold a user and a password. */
export const serverUrl: Parser<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const right = url && /^https?:$/.test(url.protocol) && !/[?#\s]/.test(value) && /^\/(\w{1,64}\/?)?$/.test(url.pathname);
  return right ? { value: value.replace(/\/+$/, "") } : { expected: "http[s]://[user:password@]host[:port][/database]" };
};

export const identifier: Parser<string> = (value) =>
  /^[\w.-]{1,128}$/.test(value) ? { value } : { expected: "a name of letters, digits, points, _ and -" };
