import { ServiceError } from "../../domain/errors.ts";
import { createId } from "../../domain/ids.ts";
import type { KeyRing } from "../../domain/keyRing.ts";
import { createKeySecret } from "../../domain/keySecret.ts";
import type { OperationOptions } from "../../storage/collection.ts";
import type { KeyDocument } from "../../storage/documents.ts";
import { DuplicateKeyError } from "../../storage/errors.ts";
import type { KeysRepository } from "../../storage/keys.ts";

/** Tries with a new id and secret when the store says that one of them is taken (keys §1.1). */
const COLLISION_ATTEMPTS = 5;

export interface IssueKeyDeps {
  readonly keys: KeysRepository;
  /** Undefined when no encryption key is configured. */
  readonly keyRing: KeyRing | undefined;
}

/** What a new secret leaves in the key's document. */
export type StoredSecret = Pick<KeyDocument, "hash" | "start" | "byteLength" | "prefix" | "encrypted">;

/** 412 `precondition_failed` where recoverable keys are asked for and none can be made or read. */
export const requireKeyRing = ({ keyRing }: Pick<IssueKeyDeps, "keyRing">): KeyRing => {
  if (keyRing) return keyRing;
  throw new ServiceError("precondition_failed", "Recoverable keys need an encryption key, and none is configured.");
};

/**
 * Makes a secret and stores the document that `build` makes of it. Returns the secret: the only time that it exists
 * in the clear.
 *
 * @param keyRing encrypts the secret for a recoverable key.
 */
export const issueKey = async (
  { keys }: IssueKeyDeps,
  { prefix, byteLength, keyRing, now }: { prefix: string | undefined; byteLength: number; keyRing: KeyRing | undefined; now: number },
  build: (keyId: string, secret: StoredSecret) => KeyDocument,
  options: OperationOptions,
): Promise<{ readonly keyId: string; readonly key: string }> => {
  for (let attempt = 1; ; attempt++) {
    const keyId = createId("key", now);
    const { key, hash, start } = createKeySecret(byteLength, prefix);
    const document = build(keyId, {
      hash,
      start,
      byteLength,
      ...(prefix === undefined ? {} : { prefix }),
      ...(keyRing === undefined ? {} : { encrypted: keyRing.encrypt(key.reveal(), keyId) }),
    });
    try {
      await keys.insert(document, options);
      return { keyId, key: key.reveal() };
    } catch (error) {
      if (!(error instanceof DuplicateKeyError) || attempt === COLLISION_ATTEMPTS) throw error;
    }
  }
};
