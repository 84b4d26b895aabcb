import { ServiceError } from "../../../../platform/base/errors.ts";
import type { OperationOptions } from "../../../../platform/storage/port/collection.ts";
import type { RoleDocument } from "../../../../platform/storage/port/documents.ts";
import type { RolesRepository } from "../../../permissions/rolesRepository.ts";

/**
 * The roles of a request's list, each once. Names compare exactly, unlike elsewhere (permissions §1). 404
 * `role_not_found` names the first that does not exist.
 */
export const findRoles = async (
  roles: Pick<RolesRepository, "findManyByName">,
  names: readonly string[],
  options: OperationOptions,
): Promise<RoleDocument[]> => {
  const wanted = [...new Set(names)];
  if (wanted.length === 0) return [];
  const found = new Map((await roles.findManyByName(wanted, options)).map((role) => [role.name, role]));
  return wanted.map((name) => {
    const role = found.get(name);
    if (!role) throw new ServiceError("role_not_found", `The role ${name} does not exist.`);
    return role;
  });
};
