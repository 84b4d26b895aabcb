import { ServiceError } from "../../../../platform/base/errors.ts";
import type { KeyRing } from "../../../../platform/secrets/keyRing.ts";
import { createKeySecret, type KeySecret, type KeySecretForm } from "../../../../platform/secrets/keySecret.ts";
import type { KeyDocument } from "../../../../platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../../../platform/storage/port/errors.ts";
import type { Call } from "../../../calls/call.ts";
import type { KeysRepository } from "../../keysRepository.ts";

/** Tries with a new id and secret when the store says that one of them is taken (keys §1.1). */
const COLLISION_ATTEMPTS = 5;

export interface IssueKeyDeps {
  readonly keys: Pick<KeysRepository, "insert">;
}

/** Of procedures that make or show recoverable keys. */
export interface KeyRingDeps {
  /** Undefined when no encryption key is configured. */
  readonly keyRing: KeyRing | undefined;
}

/** 412 `precondition_failed` where recoverable keys are asked for and none can be made or read. */
export const requireKeyRing = ({ keyRing }: KeyRingDeps): KeyRing => {
  if (keyRing) return keyRing;
  throw new ServiceError("precondition_failed", "Recoverable keys need an encryption key, and none is configured.");
};

/** A key that is about to be created. */
export interface NewKey {
  readonly keyId: string;
  readonly secret: KeySecret;
}

/** The answer for it: the only time that a secret is shown in the clear. */
export const showNewKey = ({ keyId, secret }: NewKey): { readonly keyId: string; readonly key: string } => ({
  keyId,
  key: secret.key.reveal(),
});

/**
 * Returns the fields of a key's document that describe its secret.
 * @param keyRing encrypts the secret of a recoverable key
 */
export const storeSecret = (
  { keyId, secret: { key, hash, start, lastFour } }: NewKey,
  { byteLength, prefix }: KeySecretForm,
  keyRing: KeyRing | undefined,
): Pick<KeyDocument, "hash" | "start" | "lastFour" | "byteLength" | "prefix" | "encrypted"> => ({
  hash,
  start,
  lastFour,
  byteLength,
  ...(prefix === undefined ? {} : { prefix }),
  ...(keyRing === undefined ? {} : { encrypted: keyRing.encrypt(key.reveal(), keyId) }),
});

/** Issues a key, again with a new id and secret if the store says that one of them is taken. */
export const issueKey = async <T>(form: KeySecretForm, call: Call, issue: (key: NewKey) => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await issue({ keyId: call.newId("key"), secret: createKeySecret(form, call.drawBytes) });
    } catch (error) {
      if (!(error instanceof DuplicateKeyError) || call.repeatable || attempt === COLLISION_ATTEMPTS) throw error;
    }
  }
};
