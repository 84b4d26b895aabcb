import type { Clock } from "../domain/clock.ts";
import { createId } from "../domain/ids.ts";
import type { AuditEvent } from "../storage/auditEvents.ts";
import { type AuditedCollection, type AuditLogRepository, auditedCollections } from "../storage/auditLog.ts";
import { type AuditedDocument, type AuditLogDocument, SCHEMA_VERSION, WORKSPACE_ID } from "../storage/documents.ts";
import { DuplicateKeyError } from "../storage/errors.ts";
import type { LeasesRepository } from "../storage/leases.ts";
import { chainHash, GENESIS } from "./chainHash.ts";

const RUN_EVERY_MS = 1_000;
const LEASE_MS = 10_000;
/** What stopping may take, beside the round that is on its way: events wait in the store, for another node or the next start. */
const STOP_MS = 2_000;
/** Of each collection. */
const DOCUMENTS_PER_ROUND = 200;
/** A store bounds the time that one insert may take. */
const EVENTS_PER_INSERT = 200;

const chain = (head: AuditLogDocument | null, events: readonly AuditEvent[], insertedAt: number): AuditLogDocument[] => {
  let previousHash = head?.hash ?? GENESIS;
  let sequence = head?.sequence ?? 0;
  return events.map((event) => {
    sequence++;
    const entry = { previousHash, hash: chainHash(previousHash, sequence, event), sequence };
    previousHash = entry.hash;
    return { _id: event.id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, event, ...entry, insertedAt };
  });
};

/** Events of all documents, oldest first; those of one document stay in the order in which it was changed. */
const inOrder = (documents: readonly AuditedDocument[]): AuditEvent[] => {
  const dated = documents.flatMap(({ outbox = [] }) => {
    let at = 0;
    return outbox.map((event) => {
      at = Math.max(at, event.time);
      return { at, event };
    });
  });
  return dated.sort((a, b) => a.at - b.at).map(({ event }) => event);
};

export interface AuditMover {
  readonly start: () => void;
  /** Moves all that is pending now, unless another node does; used by tests and at shutdown. */
  readonly run: () => Promise<void>;
  /** Moves what it can in two seconds, whatever is pending, and leaves the rest to others. */
  readonly stop: () => Promise<void>;
}

export interface AuditMoverOptions {
  readonly clock: Clock;
  readonly auditLog: AuditLogRepository;
  readonly leases: LeasesRepository;
  /** Indexes some of what is in the log, in the background. Asks before each step whether there is time for it. */
  readonly index?: (goesOn: () => boolean) => Promise<void>;
  readonly onError?: (error: unknown) => void;
}

/**
 * Moves events from the outboxes of changed documents into the hash-chained audit log (DESIGN §3). Event id and
 * sequence number are unique there, so a stalled lease holder cannot fork the chain: the loser re-reads the head. An
 * event leaves its outbox only after its insert was acknowledged.
 */
export const createAuditMover = ({ clock, auditLog, leases, index, onError }: AuditMoverOptions): AuditMover => {
  const node = createId("node", clock.now());
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let indexing: Promise<void> | undefined;
  let stopped = false;
  /** Monotonic ms after which no further round begins. */
  let until = Number.POSITIVE_INFINITY;

  const append = async (events: readonly AuditEvent[]): Promise<void> => {
    let rest = events;
    while (rest.length > 0) {
      try {
        await auditLog.append(chain(await auditLog.head(), rest, clock.now()));
        return;
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
        // Part of them is in the log already, from here or from an earlier, interrupted move.
        const known = await auditLog.findKnown(rest.map(({ id }) => id));
        rest = rest.filter(({ id }) => !known.has(id));
      }
    }
  };

  /** Moves what is pending; true when there is more. */
  const moveSome = async (): Promise<boolean> => {
    const pending: { readonly collection: AuditedCollection; readonly documents: AuditedDocument[] }[] = [];
    for (const collection of auditedCollections) {
      pending.push({ collection, documents: await auditLog.findPending(collection, DOCUMENTS_PER_ROUND) });
    }
    const events = inOrder(pending.flatMap(({ documents }) => documents));
    for (let from = 0; from < events.length; from += EVENTS_PER_INSERT) await append(events.slice(from, from + EVENTS_PER_INSERT));
    for (const { collection, documents } of pending) {
      await Promise.all(documents.map((document) => auditLog.settle(collection, document)));
    }
    return pending.some(({ documents }) => documents.length === DOCUMENTS_PER_ROUND);
  };

  const move = async (): Promise<void> => {
    do {
      if (!(await leases.acquire("audit", node, clock.now(), LEASE_MS))) return;
    } while ((await moveSome()) && clock.monotonic() < until);
  };

  const run = (): Promise<void> => {
    running ??= move().finally(() => {
      running = undefined;
    });
    return running;
  };

  const indexSome = async (): Promise<void> => {
    if (index === undefined || stopped || !(await leases.acquire("audit", node, clock.now(), LEASE_MS))) return;
    await index(() => !stopped);
  };

  const round = async (): Promise<void> => {
    await run();
    indexing = indexSome();
    await indexing;
  };

  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      round()
        .catch((error: unknown) => onError?.(error))
        .finally(schedule);
    }, RUN_EVERY_MS);
    timer.unref();
  };

  return {
    start: schedule,
    run,
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      until = clock.monotonic() + STOP_MS;
      // Whoever waits for the round hears of what failed there.
      await indexing?.catch(() => undefined);
      try {
        await running;
        if (clock.monotonic() < until) await run();
        await leases.release("audit", node);
      } catch (error) {
        // What is pending stays in its outbox for the next node, or the next start.
        onError?.(error);
      }
    },
  };
};
