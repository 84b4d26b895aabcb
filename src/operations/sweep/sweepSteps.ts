import type { SweptCollection } from "../../platform/storage/port/sweptCollections.ts";
import type { SweepsRepository, Walk } from "./sweepsRepository.ts";

/** What a batch removed: keys of deleted APIs, identities of keys, ids of permissions and roles in keys and roles. */
export type SweptKind = "keys" | "identities" | "references";

interface Step {
  readonly kind: SweptKind;
  readonly count: number;
}

/** Documents of one batch, as many as of a page of a list: it keeps the event loop and the writer for a few milliseconds. */
const BATCH = 100;
/** Batches between two notes of how far a walk has come; what was done since is done again after a crash, and finds nothing. */
const NOTE_EVERY = 10;
/** Identities that one query looks for. */
const IDENTITIES = 100;

async function* sweepApi(sweeps: SweepsRepository, apiId: string): AsyncGenerator<Step> {
  for (let more = true; more; ) {
    const { swept, next } = await sweeps.removeKeys(apiId, BATCH);
    more = next !== undefined;
    yield { kind: "keys", count: swept };
  }
  // Keys whose events are still to be moved wait for the next round, and so does the API.
  if (!(await sweeps.hasKeys(apiId))) await sweeps.removeRows("apis", [apiId]);
}

async function* sweepIdentities(sweeps: SweepsRepository, identityIds: readonly string[]): AsyncGenerator<Step> {
  for (let from = 0; from < identityIds.length; from += IDENTITIES) {
    const ids = identityIds.slice(from, from + IDENTITIES);
    for (let more = true; more; ) {
      const { swept, next } = await sweeps.detachIdentities(ids, BATCH);
      more = next !== undefined;
      yield { kind: "identities", count: swept };
    }
    await sweeps.removeRows("identities", ids);
  }
}

/** One walk for all that is due, over everything there is: a document may hold hundreds of ids, which no index serves. */
async function* walkReferences(sweeps: SweepsRepository, begun: Walk): AsyncGenerator<Step> {
  let walk = begun;
  for (const stage of ["roles", "keys"] as const) {
    if (walk.stage !== stage) continue;
    for (let batches = 1; ; batches++) {
      const { swept, next } = await sweeps.pullIds(stage, walk, BATCH);
      if (next === undefined) walk = { ...walk, stage: stage === "roles" ? "keys" : "rows", after: "" };
      else walk = { ...walk, after: next };
      if (next === undefined || batches % NOTE_EVERY === 0) await sweeps.saveWalk(walk);
      yield { kind: "references", count: swept };
      if (next === undefined) break;
    }
  }
  const gone = [await sweeps.removeRows("permissions", walk.permissionIds), await sweeps.removeRows("roles", walk.roleIds)];
  if (gone.every(Boolean)) await sweeps.endWalk();
}

/** Sweeps what is due, one batch for each step; may be left at any of them and begun anew at any time. */
export async function* sweepSteps(
  sweeps: SweepsRepository,
  due: Readonly<Record<SweptCollection, readonly string[]>>,
): AsyncGenerator<Step> {
  for (const apiId of due.apis) yield* sweepApi(sweeps, apiId);
  yield* sweepIdentities(sweeps, due.identities);
  if (due.permissions.length + due.roles.length === 0) return;
  let walk = await sweeps.findWalk();
  if (walk === null) {
    const { permissions, roles } = due;
    walk = { permissionIds: permissions, roleIds: roles, stage: permissions.length > 0 ? "roles" : "keys", after: "" };
    await sweeps.saveWalk(walk);
  }
  yield* walkReferences(sweeps, walk);
}
