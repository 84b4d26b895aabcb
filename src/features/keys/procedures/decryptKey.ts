import type { KeyRing } from "../../../platform/secrets/keyRing.ts";
import type { KeyDocument } from "../../../platform/storage/port/documents.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Call } from "../../calls/call.ts";
import type { KeysRepository } from "../keysRepository.ts";
import { keyNotFound } from "./shared/findKey.ts";

export interface DecryptKeyDeps {
  readonly keys: Pick<KeysRepository, "recordEvents">;
  readonly keyRing: KeyRing;
}

/**
 * The secret of a recoverable key. Its `key.decrypt` event is written before it is handed out (protocol §11). A
 * ciphertext that does not decrypt is a 500: a wrong encryption key must be noticed (keys §4).
 */
export const decryptKey = async ({ keys, keyRing }: DecryptKeyDeps, key: KeyDocument, call: Call): Promise<string> => {
  if (key.encrypted === undefined) throw new Error(`the key ${key._id} is not recoverable`);
  const plaintext = keyRing.decrypt(key.encrypted, key._id);
  const event = auditEvent(auditSource(call), "key.decrypt", `Decrypted key ${key._id}`, resource("key", key._id, key.name));
  if (!(await keys.recordEvents(key, [event], call))) throw keyNotFound(key._id);
  return plaintext;
};
