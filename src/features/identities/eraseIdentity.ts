import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ErasureSchema } from "../../../gen/latchkey/v2/identities_pb.ts";
import { requirePermissions } from "../../platform/authorization/authorization.ts";
import { ServiceError } from "../../platform/base/errors.ts";
import type { IdentityDocument } from "../../platform/storage/port/documents.ts";
import { auditEvent, resource } from "../audit/auditEvent.ts";
import { AUDIT_FORMAT } from "../audit/chainHash.ts";
import { showSequence } from "../audit/showSequence.ts";
import { auditSource } from "../calls/auditSource.ts";
import type { Call } from "../calls/call.ts";
import { changeSeveral } from "../calls/mutations.ts";
import type { NodesRepository } from "../nodes/nodesRepository.ts";
import type { Erasure } from "./erasuresRepository.ts";
import { identityNotFound, lookUpIdentity } from "./findIdentity.ts";
import type { IdentitiesRepository } from "./identitiesRepository.ts";
import { ratelimitEvents } from "./ratelimitEvents.ts";
import { type RunErasureDeps, runErasure } from "./runErasure.ts";

/** A call works for so long; the next one goes on. */
const WORK_MS = 10_000;
/** What identities are named by, see `identities.createIdentity`. */
const EXTERNAL_ID = /^[a-zA-Z0-9_.-]{1,255}$/;

export interface EraseIdentityDeps extends RunErasureDeps {
  readonly identities: Pick<IdentitiesRepository, "find" | "findByExternalId" | "findMany" | "deleteToErase">;
  readonly nodes: Pick<NodesRepository, "knownAuditFormat">;
}

/** An older node would take a log without texts for one that was altered, and go on to write such as cannot be erased. */
const refuseOlderNodes = async ({ nodes, nodesClock }: EraseIdentityDeps): Promise<void> => {
  const known = (await nodes.knownAuditFormat(nodesClock.now())) ?? AUDIT_FORMAT;
  if (known >= AUDIT_FORMAT) return;
  throw new ServiceError("precondition_failed", "Nodes of an earlier version are running. Update them before you erase a person.");
};

/** The events of deleting an identity, which name nobody. */
const eventsOf =
  (call: Call) =>
  ({ _id, ratelimits }: IdentityDocument) => {
    const source = auditSource(call);
    const target = resource("identity", _id);
    return [
      auditEvent(source, "identity.delete", `Deleted and erased identity ${_id}`, target),
      ...ratelimitEvents(source, target, ratelimits, []),
    ];
  };

/**
 * Deletes an identity and erases whom it stood for, or goes on with that (data §4). 404 when nothing of that person is there (any more).
 * @param identity id or externalId; the externalId also of one that was deleted
 */
export const eraseIdentity = async (
  deps: EraseIdentityDeps,
  identity: string,
  call: Call,
): Promise<MessageInitShape<typeof ErasureSchema>> => {
  requirePermissions(call.caller, ["identity.erase_identity", "*"]);
  const { identities, erasures, auditLog, nodesClock } = deps;
  await refuseOlderNodes(deps);
  const found = await lookUpIdentity(identities, identity, call);
  const externalId = found?.externalId ?? identity;
  const isBegun = (one: Erasure): boolean => one.externalId === externalId || one.identityIds.includes(identity);
  const begun = (await erasures.list(call)).filter(isBegun);
  // What has the externalId now and is not in the note was made after the erasure began: it goes only if it is meant by its id.
  const isMeant = begun.length === 0 || found?._id === identity || begun.some(({ identityIds }) => identityIds.includes(found?._id ?? ""));
  const living = isMeant ? found : null;
  if (living === null && begun.length === 0 && !EXTERNAL_ID.test(identity)) throw identityNotFound(identity);
  const erase = async () => {
    const nothing = { externalId, through: 0, keys: 0, entries: 0, events: 0 };
    const wanted: Erasure[] = [...begun];
    if (living !== null && !begun.some(({ identityIds }) => identityIds.includes(living._id))) {
      wanted.push({ id: living._id, identityIds: [living._id], ...nothing });
    } else if (wanted.length === 0) {
      wanted.push({ id: call.newId("id", "erasure"), identityIds: [], ...nothing });
    }
    for (const erasure of wanted) if (!begun.includes(erasure)) await erasures.begin(erasure, call);
    if (living !== null) await identities.deleteToErase(living._id, call.receivedAt, eventsOf(call), call);

    const until = nodesClock.monotonic() + WORK_MS;
    const ran: Awaited<ReturnType<typeof runErasure>>[] = [];
    for (const erasure of wanted) ran.push(await runErasure(deps, erasure, call, () => nodesClock.monotonic() < until));

    const sum = (of: (erasure: Erasure) => number): number => ran.reduce((all, { erasure }) => all + of(erasure), 0);
    const [keys, entries, events] = [sum((one) => one.keys), sum((one) => one.entries), sum((one) => one.events)];
    const done = ran.every((one) => one.done);
    if (done && found === null && keys + entries + events === 0 && sum(({ identityIds }) => identityIds.length) === 0) {
      throw identityNotFound(identity);
    }
    const end = (await auditLog.head(call))?.sequence ?? 0;
    return {
      done,
      keys: BigInt(keys),
      entries: BigInt(entries),
      events: BigInt(events),
      logPosition: showSequence(Math.max(...ran.map(({ erasure }) => erasure.through))),
      logEnd: showSequence(end),
    };
  };
  return changeSeveral(call, erase, living);
};
