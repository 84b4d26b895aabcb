import { allows, allPermissions, type Caller, compileGrants, unrestrictedGrants } from "../../platform/authorization/authorization.ts";
import type { Behalf } from "../../platform/base/behalf.ts";
import { isSameIssuer, type Person, personId } from "../../platform/base/person.ts";
import { mappedPermissions, type PermissionMapping } from "../../platform/config/permissionMapping.ts";
import type { Holder } from "../../platform/rpc/visit.ts";
import type { SessionDocument } from "../../platform/storage/port/consoleDocuments.ts";
import type { RootKeyDocument } from "../../platform/storage/port/documents.ts";
import { admitted } from "../rootKeys/authenticator.ts";
import type { RootKeysRepository } from "../rootKeys/rootKeysRepository.ts";

/** The providers of people's identities that this service knows, and what people may do here. */
export interface PersonSettings {
  /** As it was configured. */
  readonly issuer: string;
  readonly mapping: PermissionMapping;
}

/** It may sign in while it is enabled, has not expired and holds `console.*.sign_in` (console §2.1). */
export const holderOfRootKey = (rootKey: RootKeyDocument): Holder => ({
  id: rootKey._id,
  name: rootKey.name,
  opening: rootKey.sessionsEnded ?? 0,
  permissions: rootKey.permissions ?? allPermissions,
  callerAt: (now) => {
    const caller = admitted(rootKey, now);
    return caller !== undefined && allows(caller, "console.sign_in", "*") ? { ...caller, restsOn: ["console.sign_in"] } : undefined;
  },
});

/**
 * By what the mapping says now of the claims that a person signed in with (console §2.8): to be mapped is to be let in, so
 * `console.*.sign_in` itself is held, and can be handed out, only where the mapping names it. Undefined: not mapped, or of another issuer.
 */
export const holderOfPerson = (settings: PersonSettings | undefined, person: Person): Holder | undefined => {
  if (settings === undefined || !isSameIssuer(settings.issuer, person.issuer)) return undefined;
  const mapped = mappedPermissions(settings.mapping, person);
  if (mapped === undefined) return undefined;
  const id = personId(person);
  const { name } = person;
  const isEverything = mapped === "everything";
  const caller: Caller = {
    rootKeyId: id,
    name,
    expires: undefined,
    grants: isEverything ? unrestrictedGrants : compileGrants(mapped),
    isPerson: true,
  };
  return { id, name, person, opening: 0, permissions: isEverything ? allPermissions : mapped, callerAt: () => caller };
};

/** Who holds a session now; undefined: nobody any more. */
export type FindHolder = (session: Pick<SessionDocument, "rootKeyId" | "person">, behalf: Behalf) => Promise<Holder | undefined>;

export const createFindHolder =
  (rootKeys: Pick<RootKeysRepository, "find">, settings: PersonSettings | undefined): FindHolder =>
  async ({ rootKeyId, person }, behalf) => {
    if (person !== undefined) return holderOfPerson(settings, person);
    const rootKey = await rootKeys.find(rootKeyId, behalf);
    return rootKey === null ? undefined : holderOfRootKey(rootKey);
  };
