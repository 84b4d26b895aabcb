import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** AES-256-GCM with several keys: the first encrypts, all of them decrypt (keys §10). */

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

export interface EncryptionKey {
  /** Stored beside each ciphertext. */
  readonly id: string;
  readonly key: Buffer;
}

export interface Encrypted {
  readonly keyId: string;
  /** Base64 of nonce, ciphertext and authentication tag. */
  readonly ciphertext: string;
}

export interface KeyRing {
  /** @param owner id of the object that the text belongs to: a ciphertext moved to another object does not decrypt. */
  readonly encrypt: (text: string, owner: string) => Encrypted;
  /** Throws when the key is not in the ring, or the ciphertext was altered or belongs to another owner. */
  readonly decrypt: (encrypted: Encrypted, owner: string) => string;
}

/**
 * Reads `id:base64,id:base64,…`, newest first: ids of 1–64 letters, digits, `-` and `_`, each once; keys of 32 bytes.
 * Undefined when it is malformed.
 */
export const parseEncryptionKeys = (text: string): readonly EncryptionKey[] | undefined => {
  const keys: EncryptionKey[] = [];
  for (const entry of text.split(",")) {
    const [, id, encoded] = /^\s*([A-Za-z0-9_-]{1,64}):([A-Za-z0-9+/]{43}=)\s*$/.exec(entry) ?? [];
    if (id === undefined || encoded === undefined || keys.some((known) => known.id === id)) return undefined;
    const key = Buffer.from(encoded, "base64");
    if (key.length !== KEY_BYTES) return undefined;
    keys.push({ id, key });
  }
  return keys;
};

/** @param keys newest first, at least one. */
export const createKeyRing = (keys: readonly EncryptionKey[]): KeyRing => {
  const [newest] = keys;
  if (newest === undefined) throw new Error("a key ring needs a key");
  const byId = new Map(keys.map(({ id, key }) => [id, key]));
  return {
    encrypt: (text, owner) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", newest.key, nonce);
      cipher.setAAD(Buffer.from(owner, "utf8"));
      const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
      return { keyId: newest.id, ciphertext: Buffer.concat(parts).toString("base64") };
    },
    decrypt: ({ keyId, ciphertext }, owner) => {
      const key = byId.get(keyId);
      if (key === undefined) throw new Error(`the encryption key ${keyId} is not configured`);
      const bytes = Buffer.from(ciphertext, "base64");
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(owner, "utf8"));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
    },
  };
};
