import { ServiceError } from "../../platform/base/errors.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { IdentityDocument } from "../../platform/storage/port/documents.ts";
import type { IdentitiesRepository } from "./identitiesRepository.ts";

/** The same for an identity that was deleted and one that never existed. */
export const identityNotFound = (identity: string): ServiceError =>
  new ServiceError("identity_not_found", `The identity ${identity.slice(0, 255)} does not exist.`);

/** What finding an identity takes. */
export type IdentityLookUp = Pick<IdentitiesRepository, "find" | "findByExternalId">;

/** The live identity of this id, else of this externalId: the id wins (identities, "addressing"). Null when there is none. */
export const lookUpIdentity = async (
  identities: IdentityLookUp,
  identity: string,
  options: OperationOptions,
): Promise<IdentityDocument | null> => (await identities.find(identity, options)) ?? identities.findByExternalId(identity, options);

/** The same, or 404 `identity_not_found`. */
export const findIdentity = async (identities: IdentityLookUp, identity: string, options: OperationOptions): Promise<IdentityDocument> => {
  const found = await lookUpIdentity(identities, identity, options);
  if (found === null) throw identityNotFound(identity);
  return found;
};
