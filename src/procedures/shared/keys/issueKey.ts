import { ServiceError } from "../../../domain/errors.ts";
import type { KeyRing } from "../../../domain/secrets/keyRing.ts";
import type { KeySecret, KeySecretForm } from "../../../domain/secrets/keySecret.ts";
import type { KeyDocument } from "../../../storage/port/documents.ts";
import { DuplicateKeyError } from "../../../storage/port/errors.ts";
import type { KeysRepository } from "../../../storage/repositories/keysRepository.ts";
import { type Call, isOwnWrite } from "../call.ts";

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

/** What a new secret leaves in the key's document. */
export type StoredSecret = Pick<KeyDocument, "hash" | "start" | "lastFour" | "byteLength" | "prefix" | "encrypted">;

/** 412 `precondition_failed` where recoverable keys are asked for and none can be made or read. */
export const requireKeyRing = ({ keyRing }: KeyRingDeps): KeyRing => {
  if (keyRing) return keyRing;
  throw new ServiceError("precondition_failed", "Recoverable keys need an encryption key, and none is configured.");
};

/** A key that is about to be made. */
export interface NewKey {
  readonly keyId: string;
  readonly secret: KeySecret;
}

export const newKey = (form: KeySecretForm, call: Call): NewKey => ({ keyId: call.newId("key"), secret: call.newKeySecret(form) });

/** The answer for it: the only time that a secret is shown in the clear. */
export const showNewKey = ({ keyId, secret }: NewKey): { readonly keyId: string; readonly key: string } => ({
  keyId,
  key: secret.key.reveal(),
});

/**
 * Stores the document that `build` makes of a new key. Returns the key, which is another one if its id or secret was
 * taken.
 *
 * @param keyRing encrypts the secret for a recoverable key.
 */
export const issueKey = async (
  { keys }: IssueKeyDeps,
  first: NewKey,
  form: KeySecretForm,
  keyRing: KeyRing | undefined,
  build: (keyId: string, secret: StoredSecret) => KeyDocument,
  call: Call,
): Promise<NewKey> => {
  let issued = first;
  for (let attempt = 1; ; attempt++) {
    const { keyId, secret } = issued;
    const document = build(keyId, {
      hash: secret.hash,
      start: secret.start,
      lastFour: secret.lastFour,
      byteLength: form.byteLength,
      ...(form.prefix === undefined ? {} : { prefix: form.prefix }),
      ...(keyRing === undefined ? {} : { encrypted: keyRing.encrypt(secret.key.reveal(), keyId) }),
    });
    try {
      await keys.insert(document, call);
      return issued;
    } catch (error) {
      if (isOwnWrite(error, call)) return issued;
      if (!(error instanceof DuplicateKeyError) || call.repeatable || attempt === COLLISION_ATTEMPTS) throw error;
      issued = newKey(form, call);
    }
  }
};
