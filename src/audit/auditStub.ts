import type { AuditStub } from "../storage/port/auditEvents.ts";
import type { OperationOptions } from "../storage/port/collection.ts";
import type { AuditLogRepository } from "../storage/repositories/auditLogRepository.ts";
import { chainHash } from "./chainHash.ts";

/** The event that says which entries of the log were dropped; its resource is named by number and hash of the last of them. */
export const DROPPED_EVENT = "audit.drop";
/** Type of that resource. */
export const DROPPED_LOG = "auditLog";

/**
 * What a stub has to be confirmed by, where it is not: whoever removes entries by hand can write a stub, but an event that
 * says the same is part of the chain. Undefined: it is confirmed.
 */
export const unconfirmed = async (
  auditLog: AuditLogRepository,
  { sequence, hash, statement }: AuditStub,
  options: OperationOptions = {},
): Promise<{ readonly expected: string; readonly found: string } | undefined> => {
  const expected = `an event ${DROPPED_EVENT} that names number ${sequence} and hash ${hash}`;
  const entry = await auditLog.findEntry(statement, options);
  if (entry === null) return { expected, found: "nothing" };
  const { event, previousHash, format } = entry;
  const altered = { expected, found: `the event ${statement}, which was altered` };
  try {
    const isNamed = event.resources.some(({ type, id, name }) => type === DROPPED_LOG && id === String(sequence) && name === hash);
    const isLater = entry.sequence > sequence;
    if (event.event !== DROPPED_EVENT || !isNamed || !isLater) return { expected, found: `the event ${statement}` };
    return entry.hash === chainHash(previousHash, entry.sequence, event, format) ? undefined : altered;
  } catch (error) {
    // Altered so much that it is no event any more.
    if (!(error instanceof TypeError)) throw error;
    return altered;
  }
};
