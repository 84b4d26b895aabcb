import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createKeyRing, type Encrypted, type EncryptionKey, parseEncryptionKeys } from "../../src/platform/secrets/keyRing.ts";
import { codePoint } from "../support/codePoint.ts";

const keyOf = (id: string, fill = id.charCodeAt(0)): EncryptionKey => ({ id, key: Buffer.alloc(32, fill) });
const base64 = (key: Uint8Array): string => Buffer.from(key).toString("base64");
const [a, b, c] = [keyOf("a"), keyOf("b"), keyOf("c")];

describe("the configuration", () => {
  test("[keys §10] is id:base64, newest first", () => {
    expect(parseEncryptionKeys(`2031-05:${base64(a.key)}`)).toEqual([{ id: "2031-05", key: a.key }]);
    expect(parseEncryptionKeys(`new:${base64(b.key)}, old_1:${base64(a.key)} `)).toEqual([
      { id: "new", key: b.key },
      { id: "old_1", key: a.key },
    ]);
    expect(parseEncryptionKeys(`${"x".repeat(64)}:${base64(a.key)}`)).toHaveLength(1);
  });

  test.each([
    ["nothing", ""],
    ["no id", base64(a.key)],
    ["an empty id", `:${base64(a.key)}`],
    ["an id of 65 characters", `${"x".repeat(65)}:${base64(a.key)}`],
    ["an id with a dot", `a.b:${base64(a.key)}`],
    ["the same id twice", `a:${base64(a.key)},a:${base64(b.key)}`],
    ["16 bytes", `a:${base64(Buffer.alloc(16, 1))}`],
    ["31 bytes", `a:${base64(Buffer.alloc(31, 1))}`],
    ["33 bytes", `a:${base64(Buffer.alloc(33, 1))}`],
    ["hex", `a:${a.key.toString("hex")}`],
    ["no padding", `a:${base64(a.key).slice(0, -1)}`],
    ["base64url", `a:${base64(Buffer.alloc(32, 255)).replaceAll("/", "_")}`],
    ["a trailing comma", `a:${base64(a.key)},`],
    ["text after the key", `a:${base64(a.key)} b`],
  ])("[keys §10] with %s is malformed", (_, text) => {
    expect(parseEncryptionKeys(text)).toBeUndefined();
  });

  test("a ring needs a key", () => {
    expect(() => createKeyRing([])).toThrow("needs a key");
  });
});

describe("encryption", () => {
  const ring = createKeyRing([b, a]);

  test("[keys §10] decrypts what it encrypted, for the same owner", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 600 }), fc.string({ minLength: 1 }), (text, owner) => {
        expect(ring.decrypt(ring.encrypt(text, owner), owner)).toBe(text);
      }),
    );
  });

  test("[keys §10] names the newest key, which encrypts, and hides the text under a random nonce", () => {
    const texts = Array.from({ length: 50 }, () => ring.encrypt("the secret of a key", "key_1"));
    expect(new Set(texts.map(({ keyId }) => keyId))).toEqual(new Set(["b"]));
    expect(new Set(texts.map(({ ciphertext }) => ciphertext)).size).toBe(50);
    for (const { ciphertext } of texts) {
      const bytes = Buffer.from(ciphertext, "base64");
      expect(bytes.toString("latin1")).not.toContain("secret");
      expect(bytes).toHaveLength(12 + "the secret of a key".length + 16);
    }
  });

  test("[keys §10] rotation by adding a key: old texts decrypt, new ones name the new key, and a key that is taken out is missed", () => {
    const old = createKeyRing([a]).encrypt("old", "key_1");
    const rotated = createKeyRing([b, a]);
    expect(rotated.decrypt(old, "key_1")).toBe("old");
    const fresh = rotated.encrypt("fresh", "key_1");
    expect(fresh.keyId).toBe("b");
    const withoutOld = createKeyRing([c, b]);
    expect(withoutOld.decrypt(fresh, "key_1")).toBe("fresh");
    expect(() => withoutOld.decrypt(old, "key_1")).toThrow("not configured");
    expect(createKeyRing([a, b]).decrypt(fresh, "key_1")).toBe("fresh");
  });

  test("[keys §10] a text does not decrypt for another owner, under another key of that id, or under another id", () => {
    const text = ring.encrypt("secret", "key_1");
    for (const owner of ["key_2", "key_", "key_1 ", "", "KEY_1"]) expect(() => ring.decrypt(text, owner)).toThrow();
    expect(() => createKeyRing([{ ...b, key: a.key }]).decrypt(text, "key_1")).toThrow();
    expect(() => ring.decrypt({ ...text, keyId: "a" }, "key_1")).toThrow();
    expect(() => ring.decrypt({ ...text, keyId: "unknown" }, "key_1")).toThrow("unknown");
  });

  test("[keys §10] a text that was altered, shortened or put together from two does not decrypt, and no error holds the secret", () => {
    const secret = randomBytes(24).toString("base64");
    const whole = Buffer.from(ring.encrypt(secret, "key_1").ciphertext, "base64");
    const other = Buffer.from(ring.encrypt(secret, "key_1").ciphertext, "base64");
    const fails = (bytes: Buffer): void => {
      const altered: Encrypted = { keyId: "b", ciphertext: bytes.toString("base64") };
      let failure: unknown;
      try {
        ring.decrypt(altered, "key_1");
      } catch (error) {
        failure = error;
      }
      expect(failure).toBeInstanceOf(Error);
      expect(String((failure as Error).stack)).not.toContain(secret);
    };
    for (let i = 0; i < whole.length; i++) {
      const flipped = Buffer.from(whole);
      flipped[i] = (flipped[i] as number) ^ 1;
      fails(flipped);
      fails(whole.subarray(0, i));
    }
    fails(Buffer.concat([whole, Buffer.from([0])]));
    fails(Buffer.concat([other.subarray(0, 12), whole.subarray(12)]));
    fails(Buffer.concat([whole.subarray(0, -16), other.subarray(-16)]));
  });
});
