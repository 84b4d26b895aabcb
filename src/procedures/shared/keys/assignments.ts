import type { AuditSource } from "../../../audit/auditEvent.ts";
import type { AuditEvent, AuditResource } from "../../../storage/port/auditEvents.ts";
import type { OperationOptions } from "../../../storage/port/collection.ts";
import type { PermissionDocument, RoleDocument } from "../../../storage/port/documents.ts";
import type { PermissionsRepository } from "../../../storage/repositories/permissionsRepository.ts";
import type { RolesRepository } from "../../../storage/repositories/rolesRepository.ts";
import { permissionEvents, roleEvents } from "./keyConfiguration.ts";

/** The events of a key whose list of ids changes: one per object that it is disconnected from or connected with. */
export type AssignmentEvents = (
  source: AuditSource,
  key: AuditResource,
  before: readonly string[],
  after: readonly string[],
) => readonly AuditEvent[];

/** What a request lists, and the ids of what the key held when it was found, if the change may take any of it away. */
interface Assignment<T> {
  readonly listed: readonly T[];
  readonly held: readonly string[];
}

interface Difference<T> {
  readonly connected: readonly T[];
  readonly disconnected: readonly T[];
}

/**
 * Looks up what the events will name. What the key held but was deleted is not disconnected once more: its connection
 * went with it (permissions §§5, 9).
 * @param unnamed stands for an object that another call connected in the meantime.
 */
const compareWith = async <T extends { readonly _id: string }>(
  { listed, held }: Assignment<T>,
  find: (ids: readonly string[]) => Promise<readonly T[]>,
  unnamed: (id: string) => T,
): Promise<(before: readonly string[], after: readonly string[]) => Difference<T>> => {
  const known = new Map(listed.map((item) => [item._id, item]));
  const others = held.filter((id) => !known.has(id));
  for (const item of others.length === 0 ? [] : await find(others)) known.set(item._id, item);
  const deleted = new Set(others.filter((id) => !known.has(id)));

  const without = (ids: readonly string[], excluded: readonly string[]): T[] => {
    const set = new Set(excluded);
    return ids.filter((id) => !set.has(id)).map((id) => known.get(id) ?? unnamed(id));
  };
  return (before, after) => ({
    connected: without(after, before),
    disconnected: without(before, after).filter(({ _id }) => !deleted.has(_id)),
  });
};

export const permissionAssignment = async (
  permissions: Pick<PermissionsRepository, "findMany">,
  assignment: Assignment<Pick<PermissionDocument, "_id" | "slug">>,
  options: OperationOptions,
): Promise<AssignmentEvents> => {
  const find = (ids: readonly string[]) => permissions.findMany(ids, options);
  const compare = await compareWith(assignment, find, (id) => ({ _id: id, slug: id }));
  return (source, key, before, after) => {
    const { connected, disconnected } = compare(before, after);
    return [...permissionEvents(source, "disconnect", key, disconnected), ...permissionEvents(source, "connect", key, connected)];
  };
};

export const roleAssignment = async (
  roles: Pick<RolesRepository, "findMany">,
  assignment: Assignment<Pick<RoleDocument, "_id" | "name">>,
  options: OperationOptions,
): Promise<AssignmentEvents> => {
  const find = (ids: readonly string[]) => roles.findMany(ids, options);
  const compare = await compareWith(assignment, find, (id) => ({ _id: id, name: id }));
  return (source, key, before, after) => {
    const { connected, disconnected } = compare(before, after);
    return [...roleEvents(source, "disconnect", key, disconnected), ...roleEvents(source, "connect", key, connected)];
  };
};
