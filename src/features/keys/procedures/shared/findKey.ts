import { ServiceError } from "../../../../platform/base/errors.ts";
import type { OperationOptions } from "../../../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../../../platform/storage/port/documents.ts";
import type { ApisRepository } from "../../../apis/apisRepository.ts";
import type { CreditSpender } from "../../creditSpender.ts";
import type { KeysRepository } from "../../keysRepository.ts";

/** The same for a key that is unknown, deleted, or whose API is deleted. */
export const keyNotFound = (keyId: string): ServiceError =>
  new ServiceError("key_not_found", `The key ${keyId} does not exist or has been deleted.`);

export interface FindKeyDeps {
  readonly keys: Pick<KeysRepository, "find">;
  readonly apis: Pick<ApisRepository, "find">;
}

/** Of procedures that change the key they find. */
export interface ModifyKeyDeps extends FindKeyDeps {
  readonly keys: Pick<KeysRepository, "find" | "modify">;
}

/** Of procedures that set its balance. */
export interface ModifyCreditsDeps extends ModifyKeyDeps {
  readonly credits: Pick<CreditSpender, "runExclusive">;
}

/** Changes a key while this node spends nothing from it. */
export const modifyAlone =
  ({ keys, credits }: ModifyCreditsDeps): KeysRepository["modify"] =>
  (keyId, decide, options) =>
    credits.runExclusive(keyId, () => keys.modify(keyId, decide, options));

/** The live key (keys §1.2), or 404 `key_not_found`. */
export const findKey = async ({ keys, apis }: FindKeyDeps, keyId: string, options: OperationOptions): Promise<KeyDocument> => {
  const key = await keys.find(keyId, options);
  if (key === null || (await apis.find(key.apiId, options)) === null) throw keyNotFound(keyId);
  return key;
};
