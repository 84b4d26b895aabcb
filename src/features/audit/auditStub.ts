import type { AuditStub } from "../../platform/storage/port/auditEvents.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { ChainBreak } from "./auditFaults.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { isHashedWhole } from "./chainHash.ts";

/** The event that says which entries of the log were dropped; its resource is named by number and hash of the last of them. */
export const DROPPED_EVENT = "audit.drop";
/** Type of that resource. */
export const DROPPED_LOG = "auditLog";

/**
 * What a stub has to be confirmed by, where it is not: whoever removes entries by hand can write a stub, but an event that
 * says the same is part of the chain. Undefined: it is confirmed.
 */
const unconfirmed = async (
  auditLog: Pick<AuditLogRepository, "findEntry">,
  { sequence, hash, statement }: AuditStub,
  options: OperationOptions = {},
): Promise<{ readonly expected: string; readonly found: string } | undefined> => {
  const expected = `an event ${DROPPED_EVENT} that names number ${sequence} and hash ${hash}`;
  const entry = await auditLog.findEntry(statement, options);
  if (entry === null) return { expected, found: "nothing" };
  const { event } = entry;
  const altered = { expected, found: `the event ${statement}, which was altered` };
  try {
    const isNamed = event.resources.some(({ type, id, name }) => type === DROPPED_LOG && id === String(sequence) && name === hash);
    const isLater = entry.sequence > sequence;
    if (event.event !== DROPPED_EVENT || !isNamed || !isLater) return { expected, found: `the event ${statement}` };
    return isHashedWhole(entry) ? undefined : altered;
  } catch (error) {
    // Altered so much that it is no event any more.
    if (!(error instanceof TypeError)) throw error;
    return altered;
  }
};

/** What is wrong with a stub; nothing with none. */
export const breakOfStub = async (
  auditLog: Pick<AuditLogRepository, "findEntry">,
  stub: AuditStub | null,
  options: OperationOptions = {},
): Promise<{ readonly broken: ChainBreak | undefined }> => {
  const doubt = stub === null ? undefined : await unconfirmed(auditLog, stub, options);
  return { broken: stub === null || doubt === undefined ? undefined : { sequence: stub.sequence, ...doubt } };
};

/**
 * What is said of the chain's beginning, by the stub as it is. Retention may go on between two reads, and then takes along what the stub
 * that was read rests on: where something is wrong and the stub is another by now, it is judged anew.
 */
export const judgeBeginning = async <R extends { readonly broken?: ChainBreak | undefined }>(
  auditLog: AuditLogRepository,
  judge: (stub: AuditStub | null) => Promise<R>,
  options: OperationOptions = {},
): Promise<R & { readonly stub: AuditStub | null }> => {
  for (let stub = await auditLog.stub(options); ; ) {
    const judged = await judge(stub);
    if (judged.broken === undefined) return { ...judged, stub };
    const now = await auditLog.stub(options);
    if (now?.sequence === stub?.sequence) return { ...judged, stub };
    stub = now;
  }
};
