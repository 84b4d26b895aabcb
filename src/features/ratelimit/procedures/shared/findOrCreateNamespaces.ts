import { type Action, requirePermissions } from "../../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../../platform/base/errors.ts";
import { createId } from "../../../../platform/base/ids.ts";
import type { Cached } from "../../../../platform/cache/cacheEntry.ts";
import { auditEvent, resource } from "../../../audit/auditEvent.ts";
import { auditSource } from "../../../calls/auditSource.ts";
import type { Call } from "../../../calls/call.ts";
import type { CachedNamespace, NamespaceCache } from "../../namespaceCache.ts";
import type { NamespacesRepository } from "../../namespacesRepository.ts";
import { compileOverrides } from "../../overridePattern.ts";

export interface NamespaceDeps {
  readonly namespaces: NamespacesRepository;
  readonly namespaceCache: NamespaceCache;
}

type Needed = readonly [Action, string];

const neededFor = (found: CachedNamespace | null): readonly Needed[] =>
  found === null
    ? [
        ["ratelimit.create_namespace", "*"],
        ["ratelimit.limit", "*"],
      ]
    : [["ratelimit.limit", found.namespace._id]];

const requireLive = ({ namespace }: CachedNamespace, idOrName: string): void => {
  if (namespace.deletedAt !== undefined) {
    throw new ServiceError("ratelimit_namespace_gone", `The namespace ${idOrName} was deleted.`);
  }
};

const createNamespace = async ({ namespaces, namespaceCache }: NamespaceDeps, name: string, call: Call): Promise<CachedNamespace> => {
  const id = createId("rlns", call.receivedAt);
  const event = auditEvent(
    auditSource(call),
    "ratelimitNamespace.create",
    `Created namespace ${name}`,
    resource("ratelimitNamespace", id, name),
  );
  const namespace = await namespaces.findOrCreate({ id, name }, call.receivedAt, [event], call);
  if (namespace._id === id) return { namespace, overrides: compileOverrides([]) };
  // Somebody else was faster, and may have set overrides or deleted it since.
  const found = (await namespaceCache.get(name, call)).value ?? { namespace, overrides: compileOverrides([]) };
  requireLive(found, name);
  return found;
};

const judge = (
  deps: NamespaceDeps,
  found: CachedNamespace | null,
  idOrName: string,
  call: Call,
): CachedNamespace | Promise<CachedNamespace> => {
  requirePermissions(call.caller, ...neededFor(found));
  if (found === null) return createNamespace(deps, idOrName, call);
  requireLive(found, idOrName);
  return found;
};

const whenRead = (
  reading: Promise<Cached<CachedNamespace | null>>,
  deps: NamespaceDeps,
  idOrName: string,
  call: Call,
): Promise<CachedNamespace> => reading.then(({ value }) => judge(deps, value, idOrName, call));

/**
 * The namespace that a check names, made if there is none (ratelimit §4); at once where it is remembered. 403 unless the caller
 * may limit it and, where it is missing, make it; then 410 `ratelimit_namespace_gone` for a deleted one. Throws or rejects.
 */
export const findOrCreateNamespace = (deps: NamespaceDeps, idOrName: string, call: Call): CachedNamespace | Promise<CachedNamespace> => {
  const read = deps.namespaceCache.get(idOrName, call);
  return read instanceof Promise ? whenRead(read, deps, idOrName, call) : judge(deps, read.value, idOrName, call);
};

/** The same for several, by what the request calls them: all are judged before any is made (ratelimit §7). */
export const findOrCreateNamespaces = async (
  deps: NamespaceDeps,
  idsOrNames: Iterable<string>,
  call: Call,
): Promise<ReadonlyMap<string, CachedNamespace>> => {
  const distinct = [...new Set(idsOrNames)];
  const found = await Promise.all(distinct.map(async (each) => (await deps.namespaceCache.get(each, call)).value));
  const needed = new Map(found.flatMap(neededFor).map((each) => [each.join(" "), each]));
  requirePermissions(call.caller, ...needed.values());
  for (const [i, each] of found.entries()) if (each) requireLive(each, distinct[i] ?? "");
  const all = await Promise.all(found.map((each, i) => each ?? createNamespace(deps, distinct[i] ?? "", call)));
  return new Map(all.map((each, i) => [distinct[i] ?? "", each]));
};
