import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PermissionSchema, RoleSchema } from "../../../gen/latchkey/v2/common_pb.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { PermissionDocument, RoleDocument } from "../../platform/storage/port/documents.ts";
import type { PermissionsRepository } from "./permissionsRepository.ts";

const by =
  <T>(field: (item: T) => string) =>
  (a: T, b: T): number =>
    field(a) < field(b) ? -1 : 1;

/** A permission as responses show it. */
export const showPermission = ({ _id, name, slug, description }: PermissionDocument): MessageInitShape<typeof PermissionSchema> => ({
  id: _id,
  name,
  slug,
  ...(description === undefined ? {} : { description }),
});

/** Permissions as responses list them: by slug (permissions §1). */
export const showPermissions = (permissions: readonly PermissionDocument[]): MessageInitShape<typeof PermissionSchema>[] =>
  [...permissions].sort(by(({ slug }) => slug)).map(showPermission);

/** Roles with their permissions expanded, in the order given. */
export const showRolesInOrder = async (
  permissions: Pick<PermissionsRepository, "findMany">,
  roles: readonly RoleDocument[],
  options: OperationOptions,
): Promise<MessageInitShape<typeof RoleSchema>[]> => {
  const ids = [...new Set(roles.flatMap((role) => role.permissionIds))];
  const held = new Map((ids.length === 0 ? [] : await permissions.findMany(ids, options)).map((each) => [each._id, each]));
  return roles.map(({ _id, name, description, permissionIds }) => ({
    id: _id,
    name,
    ...(description === undefined ? {} : { description }),
    permissions: showPermissions(permissionIds.flatMap((id) => held.get(id) ?? [])),
  }));
};

/** Roles as responses list them: by name. */
export const showRoles = (
  permissions: Pick<PermissionsRepository, "findMany">,
  roles: readonly RoleDocument[],
  options: OperationOptions,
): Promise<MessageInitShape<typeof RoleSchema>[]> => showRolesInOrder(permissions, [...roles].sort(by(({ name }) => name)), options);

export const showRole = async (
  permissions: Pick<PermissionsRepository, "findMany">,
  role: RoleDocument,
  options: OperationOptions,
): Promise<MessageInitShape<typeof RoleSchema>> => {
  const [shown] = await showRolesInOrder(permissions, [role], options);
  return shown ?? {};
};
