import { ServiceError } from "../../../domain/errors.ts";
import type { OperationOptions } from "../../../storage/port/collection.ts";
import type { RootKeyDocument } from "../../../storage/port/documents.ts";
import type { RootKeysRepository } from "../../../storage/repositories/rootKeysRepository.ts";

export interface RootKeysDeps {
  readonly rootKeys: RootKeysRepository;
}

export const rootKeyNotFound = (keyId: string): ServiceError =>
  new ServiceError("key_not_found", `The root key ${keyId} does not exist or has been deleted.`);

/** The root key, or 404 `key_not_found`. */
export const findRootKey = async ({ rootKeys }: RootKeysDeps, keyId: string, options: OperationOptions): Promise<RootKeyDocument> => {
  const rootKey = await rootKeys.find(keyId, options);
  if (rootKey === null) throw rootKeyNotFound(keyId);
  return rootKey;
};
