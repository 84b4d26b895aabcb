import { ServiceError } from "../../platform/base/errors.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { RootKeyDocument } from "../../platform/storage/port/documents.ts";
import type { RootKeysRepository } from "./rootKeysRepository.ts";

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
