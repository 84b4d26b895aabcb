import { createId } from "../../platform/base/ids.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { AuditedCollection } from "../../platform/storage/port/auditedCollections.ts";
import type { AuditedDocument } from "../../platform/storage/port/baseDocument.ts";
import type { LeasesRepository } from "../../platform/storage/repositories/leasesRepository.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { createRounds } from "../../platform/util/rounds.ts";
import { type AppendEvents, type AppendEventsOptions, createAppendEvents } from "./appendEvents.ts";

const RUN_EVERY_MS = 1_000;
/** An event is to be seen within five seconds, also when the node dies that moves them (management §8). */
const LEASE_MS = 3_000;
const RENEW_EVERY_MS = 1_000;
/** What is done beside moving begins no further step after it: new events wait meanwhile. */
const BACKGROUND_MS = 500;
/** What stopping may take, beside the round that is on its way: events wait in the store, for another node or the next start. */
const STOP_MS = 2_000;
/** Of each collection. */
const DOCUMENTS_PER_ROUND = 200;
/** A store bounds the time that one insert may take. */
const EVENTS_PER_INSERT = 200;

/** Events of all documents, oldest first; those of one document stay in the order in which it was changed. */
const inOrder = (documents: readonly AuditedDocument[]): AuditEvent[] => {
  const dated = documents.flatMap(({ outbox = [], outboxChanges = [] }) => {
    const told = new Map(outboxChanges.map(({ id, changes }) => [id, changes]));
    let at = 0;
    return outbox.map((event) => {
      at = Math.max(at, event.time);
      const changes = told.get(event.id);
      return { at, event: changes === undefined ? event : { ...event, changes } };
    });
  });
  return dated.sort((a, b) => a.at - b.at).map(({ event }) => event);
};

export interface AuditMover {
  readonly start: () => void;
  /** Moves all that is pending now, unless another node does: at a stop, and for a document whose outbox is full. */
  readonly run: () => Promise<void>;
  /** Moves what it can in two seconds, whatever is pending, and leaves the rest to others. */
  readonly stop: () => Promise<void>;
}

export interface AuditMoverOptions extends AppendEventsOptions {
  readonly leases: LeasesRepository;
  /**
   * What else one node at a time does with the log, after each round: asks before each step, a step being a few operations,
   * whether there is time for it.
   */
  readonly background?: (goesOn: () => boolean, append: AppendEvents) => Promise<void>;
  readonly onError?: (error: unknown) => void;
}

/**
 * Moves events from the outboxes of changed documents into the hash-chained audit log (DESIGN §3). Event id and
 * sequence number are unique there, so a stalled lease holder cannot fork the chain: the loser re-reads the head. An
 * event leaves its outbox only after its insert was acknowledged.
 */
export const createAuditMover = (options: AuditMoverOptions): AuditMover => {
  const { clock, auditLog, leases, knownFormat, background, onError } = options;
  const append = createAppendEvents({ clock, auditLog, knownFormat });
  const node = createId("node", clock.now());
  let running: Promise<void> | undefined;
  let stopped = false;
  /** Monotonic ms after which no further round begins. */
  let until = Number.POSITIVE_INFINITY;
  /** Monotonic ms at which the lease was asked for last, and whether it was given. */
  let leasedAt = 0;
  let isHolder = false;

  /** Whether the log is this node's to extend: it saves others work, and is not what keeps the chain whole. */
  const takeLease = async (): Promise<boolean> => {
    leasedAt = clock.monotonic();
    try {
      isHolder = await leases.acquire("audit", node, clock.now(), LEASE_MS);
    } catch (error) {
      isHolder = false;
      throw error;
    }
    return isHolder;
  };
  /** The same for the one that has it: asks again before the time is over. */
  const keepLease = async (): Promise<boolean> => isHolder && (clock.monotonic() - leasedAt < RENEW_EVERY_MS || takeLease());

  /** Moves what is pending; true when there is more. Ends where another node has taken over: that one goes on. */
  const moveSome = async (): Promise<boolean> => {
    const pending: { readonly collection: AuditedCollection; readonly documents: AuditedDocument[] }[] = [];
    for (const collection of await auditLog.listPending()) {
      pending.push({ collection, documents: await auditLog.findPending(collection, DOCUMENTS_PER_ROUND) });
    }
    const events = inOrder(pending.flatMap(({ documents }) => documents));
    for (const some of chunks(events, EVENTS_PER_INSERT)) {
      if (!(await keepLease())) return false;
      await append(some);
    }
    for (const { collection, documents } of pending) await auditLog.settle(collection, documents);
    return pending.some(({ documents }) => documents.length === DOCUMENTS_PER_ROUND);
  };

  const move = async (): Promise<void> => {
    do {
      if (!(await takeLease())) return;
    } while ((await moveSome()) && clock.monotonic() < until);
  };

  const run = (): Promise<void> => {
    running ??= move().finally(() => {
      running = undefined;
    });
    return running;
  };

  const work = async (): Promise<void> => {
    if (background === undefined || stopped || !(await keepLease())) return;
    const end = clock.monotonic() + BACKGROUND_MS;
    await background(() => !stopped && clock.monotonic() < end, append);
  };

  const round = async (): Promise<void> => {
    await run();
    await work();
  };

  const rounds = createRounds(RUN_EVERY_MS, round, onError);

  return {
    start: () => rounds.start(),
    run,
    stop: async () => {
      stopped = true;
      until = clock.monotonic() + STOP_MS;
      await rounds.stop();
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
