import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { base58 } from "@scure/base";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createId, isId, timePart } from "../../src/platform/base/ids.ts";
import { createKeySecret, hashKey, looksLikeKeySecret } from "../../src/platform/secrets/keySecret.ts";
import { createRootKeySecret, looksLikeRootKey } from "../../src/platform/secrets/rootKeySecret.ts";
import { secret } from "../../src/platform/secrets/secret.ts";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

test("[keys §1.1] base58 equals division of one large integer, with a 1 for each leading zero byte", () => {
  const oracle = (bytes: Uint8Array): string => {
    let rest = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
    let text = "";
    for (; rest > 0n; rest /= 58n) text = ALPHABET[Number(rest % 58n)] + text;
    const zeros = bytes.findIndex((byte) => byte !== 0);
    return "1".repeat(zeros === -1 ? bytes.length : zeros) + text;
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      expect(base58.encode(bytes)).toBe(oracle(bytes));
    }),
  );
  expect(base58.encode(new Uint8Array([0, 0, 1]))).toBe("112");
});

test.each([
  [16, 21, 22],
  [32, 43, 44],
  [255, 347, 349],
])("[keys §1.1] %i bytes give %i to %i characters", (byteLength, least, most) => {
  for (let i = 0; i < 50; i++) {
    const { length } = createKeySecret({ byteLength }).key.reveal();
    // A leading zero byte, once in 256 keys, may cost a character.
    expect(length).toBeGreaterThanOrEqual(least - 1);
    expect(length).toBeLessThanOrEqual(most);
  }
});

test("[keys §1.1] start is the prefix with its _ and four characters, or four characters", () => {
  const plain = createKeySecret({ byteLength: 16 });
  expect(plain.start).toBe(plain.key.reveal().slice(0, 4));
  const prefixed = createKeySecret({ byteLength: 16, prefix: "my_app" });
  expect(prefixed.key.reveal()).toMatch(/^my_app_[1-9A-HJ-NP-Za-km-z]{20,22}$/);
  expect(prefixed.start).toBe(prefixed.key.reveal().slice(0, "my_app_".length + 4));
});

test("[keys §1.1] the hash is the padded base64 SHA-256 of the whole key string", () => {
  expect(hashKey("prod_ü")).toBe(createHash("sha256").update("prod_ü", "utf8").digest("base64"));
  expect(hashKey("x")).toHaveLength(44);
});

test("[protocol §7] a root key is lkr_ + 32 base62 characters + their checksum", () => {
  const { key, start, end } = createRootKeySecret();
  expect(key.reveal()).toMatch(/^lkr_[0-9A-Za-z]{38}$/);
  expect(looksLikeRootKey(key.reveal())).toBe(true);
  expect(start).toBe(key.reveal().slice(0, 8));
  expect(end).toBe(key.reveal().slice(-4));
});

test("[protocol §7] a root key with one mistyped character needs no look-up", () => {
  const key = createRootKeySecret().key.reveal();
  for (let i = 4; i < key.length; i++) {
    const mistyped = key.slice(0, i) + (key[i] === "x" ? "y" : "x") + key.slice(i + 1);
    expect(looksLikeRootKey(mistyped)).toBe(false);
  }
  expect(looksLikeRootKey(`${key} `)).toBe(false);
  expect(looksLikeRootKey("lkr_")).toBe(false);
});

test("a secret prints as *** wherever it goes", () => {
  const wrapped = secret("hunter2");
  expect(`${wrapped} ${String(wrapped)} ${JSON.stringify({ wrapped })} ${inspect({ wrapped })}`).not.toContain("hunter2");
  expect(JSON.stringify({ wrapped })).toBe('{"wrapped":"***"}');
  expect(wrapped.reveal()).toBe("hunter2");
});

test("[protocol §4] ids are prefix + 24 letters and digits, sort by time and do not repeat", () => {
  const ids = Array.from({ length: 10_000 }, () => createId("key", 1_700_000_000_000));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => /^key_[0-9A-Za-z]{24}$/.test(id))).toBe(true);
  fc.assert(
    fc.property(fc.nat({ max: 4e12 }), fc.nat({ max: 4e12 }), (a, b) => {
      expect(timePart(a) < timePart(b)).toBe(a < b);
    }),
  );
});

test("[protocol §4] an id is known by its form, and of its kind alone", () => {
  const id = createId("key", Date.now());
  expect(isId("key", id)).toBe(true);
  for (const text of [
    "",
    "key_",
    id.slice(0, -1),
    `${id}1`,
    `${id}\n`,
    ` ${id}`,
    `${id.slice(0, -1)}0`,
    id.replace("key_", "api_"),
    id.slice(4),
  ])
    expect([text, isId("key", text)]).toEqual([text, false]);
});

test("[management §2] a text looks like a key's secret with a prefix of 1 to 16 characters or none, and 20 characters of base58", () => {
  for (const prefix of [undefined, "p", "a_b", "x".repeat(16)]) {
    for (const byteLength of [16, 255]) expect(looksLikeKeySecret(createKeySecret({ byteLength, prefix }).key.reveal())).toBe(true);
  }
  const part = "A".repeat(20);
  for (const text of [part, `p_${part}`, `ключ_${part}`]) expect(looksLikeKeySecret(text)).toBe(true);
  for (const text of [
    part.slice(1),
    `p_${part.slice(1)}`,
    `_${part}`,
    `${"x".repeat(17)}_${part}`,
    `p_${part}0`,
    `p_${part} `,
    `p-${part}`,
  ])
    expect([text, looksLikeKeySecret(text)]).toEqual([text, false]);
});
