import type { AuditEvent, AuditResource } from "../../../../platform/storage/port/auditEvents.ts";
import type { OperationOptions } from "../../../../platform/storage/port/collection.ts";
import type { AuditSource } from "../../../audit/auditEvent.ts";
import { connectionEvents, type Holdable } from "./keyConfiguration.ts";

/** A list of permissions or roles in a request, as the ids that a key is to hold. */
export interface Assignment {
  readonly ids: readonly string[];
  /** The events of a key whose list of ids changes: one per object that it is disconnected from or connected with. */
  readonly eventsOf: (
    source: AuditSource,
    key: AuditResource,
    before: readonly string[],
    after: readonly string[],
  ) => readonly AuditEvent[];
}

/** Stands for an object that another call connected in the meantime. */
const unnamed = (id: string): Holdable => (id.startsWith("perm_") ? { _id: id, slug: id } : { _id: id, name: id });

/**
 * Looks up what the events will name. What the key held but was deleted is not disconnected once more: its connection
 * went with it (permissions §§5, 9).
 * @param held ids that the key held when it was found, if the change may take any of them away
 */
export const assign = async (
  objects: { readonly findMany: (ids: readonly string[], options?: OperationOptions) => Promise<readonly Holdable[]> },
  listed: readonly Holdable[],
  held: readonly string[],
  options: OperationOptions,
): Promise<Assignment> => {
  const known = new Map(listed.map((item) => [item._id, item]));
  const others = held.filter((id) => !known.has(id));
  for (const item of others.length === 0 ? [] : await objects.findMany(others, options)) known.set(item._id, item);
  const deleted = new Set(others.filter((id) => !known.has(id)));

  const without = (ids: readonly string[], excluded: readonly string[]): Holdable[] => {
    const set = new Set(excluded);
    return ids.filter((id) => !set.has(id)).map((id) => known.get(id) ?? unnamed(id));
  };
  return {
    ids: listed.map(({ _id }) => _id),
    eventsOf: (source, key, before, after) => {
      const disconnected = without(before, after).filter(({ _id }) => !deleted.has(_id));
      return [
        ...connectionEvents(source, "disconnect", key, disconnected),
        ...connectionEvents(source, "connect", key, without(after, before)),
      ];
    },
  };
};
