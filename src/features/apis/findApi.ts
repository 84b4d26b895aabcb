import { ServiceError } from "../../platform/base/errors.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { ApiDocument } from "../../platform/storage/port/documents.ts";
import type { ApisRepository } from "./apisRepository.ts";

/** The same for an API that was deleted and one that never existed. */
export const apiNotFound = (apiId: string): ServiceError =>
  new ServiceError("api_not_found", `The API ${apiId} does not exist or has been deleted.`);

/** The live API, or 404 `api_not_found`. */
export const findApi = async (apis: Pick<ApisRepository, "find">, apiId: string, options: OperationOptions): Promise<ApiDocument> => {
  const api = await apis.find(apiId, options);
  if (api === null) throw apiNotFound(apiId);
  return api;
};
