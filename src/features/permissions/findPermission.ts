import { ServiceError } from "../../platform/base/errors.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { PermissionDocument, RoleDocument } from "../../platform/storage/port/documents.ts";
import type { PermissionsRepository } from "./permissionsRepository.ts";
import type { RolesRepository } from "./rolesRepository.ts";

export const permissionNotFound = (permission: string): ServiceError =>
  new ServiceError("permission_not_found", `The permission ${permission} does not exist.`);

export const permissionExists = (slug: string): ServiceError =>
  new ServiceError("permission_already_exists", `A permission with the slug ${slug} already exists.`);

/** The permission of this id, else of this slug in any letter case: the id wins. 404 `permission_not_found`. */
export const findPermission = async (
  permissions: PermissionsRepository,
  permission: string,
  options: OperationOptions,
): Promise<PermissionDocument> => {
  const byId = permission.startsWith("perm_") ? await permissions.findMany([permission], options) : [];
  const [found] = byId.length > 0 ? byId : await permissions.findManyBySlug([permission], options);
  if (!found) throw permissionNotFound(permission);
  return found;
};

export const roleNotFound = (role: string): ServiceError => new ServiceError("role_not_found", `The role ${role} does not exist.`);

export const roleExists = (name: string): ServiceError =>
  new ServiceError("role_already_exists", `A role with the name ${name} already exists.`);

/** The role of this id, else of this name in any letter case: the id wins. 404 `role_not_found`. */
export const findRole = async (roles: RolesRepository, role: string, options: OperationOptions): Promise<RoleDocument> => {
  const byId = role.startsWith("role_") ? await roles.findMany([role], options) : [];
  const [found] = byId.length > 0 ? byId : await roles.findManyByName([role], options);
  if (!found) throw roleNotFound(role);
  return found;
};
