import { randomUUID } from "node:crypto";
import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Announcer } from "../../platform/storage/decorators/announceWrites.ts";
import type { IdempotencyDocument } from "../../platform/storage/port/documents.ts";
import type { Change } from "./mutation.ts";
import { type ReservationState, stateOf } from "./reservationState.ts";
import type { ReservationsRepository } from "./reservationsRepository.ts";

/** How long an answer is kept, counted from the arrival of its call. */
const KEEP_MS = 24 * 60 * 60_000;
/** A run that has not been heard of for so long is taken for dead. */
const LEASE_MS = 5_000;
const RENEW_EVERY_MS = 1_500;

export type Reservation = IdempotencyDocument;

/** What a call asks to be remembered before its first write. */
type NewReservation = Omit<Reservation, "v" | "workspaceId" | "holder" | "leaseUntil" | "expireAt" | "done">;

/** What stands under an id. */
export interface Look {
  /** null = nothing, which is the state `absent`. */
  readonly reservation: Reservation | null;
  readonly state: ReservationState;
}

/** A reservation that a run of a call holds, and keeps from others until one of these is called. */
export interface Hold {
  /** Stores the answer for repeats. False when another run has taken over: the answer is that one's to give. */
  readonly complete: (answer: string) => Promise<boolean>;
  /** Gives the key back, as if it had never been used. False when another run has taken over. */
  readonly free: () => Promise<boolean>;
  /** Leaves the work to a repeat, at once instead of when the lease has run out. */
  readonly release: () => Promise<void>;
}

export interface Reservations {
  readonly look: (id: string, behalf: Behalf) => Promise<Look>;
  /** Makes a reservation, in place of `former` if there is one; undefined when somebody else was faster. */
  readonly reserve: (wanted: NewReservation, former: Reservation | null, behalf: Behalf) => Promise<Hold | undefined>;
  /** Goes on with an abandoned one; undefined when somebody else was faster. */
  readonly takeOver: (reservation: Reservation, behalf: Behalf) => Promise<Hold | undefined>;
  /** Whether the event of this id was written with the change. */
  readonly wasWritten: (change: Change, eventId: string, behalf: Behalf) => Promise<boolean>;
  readonly isLogged: (eventId: string, behalf: Behalf) => Promise<boolean>;
}

export interface ReservationsOptions {
  /** For how long answers are kept. */
  readonly clock: Clock;
  /** Of leases: the same for all nodes, and never one that somebody turns. */
  readonly leaseClock: Clock;
  readonly reservations: ReservationsRepository;
  /** Told of changes that another run made and may have died before it could announce them again. */
  readonly announcer: Pick<Announcer, "announce" | "forget">;
}

/**
 * Which run of a call with an Idempotency-Key works, over any number of nodes (DESIGN §4). The lease saves work; a run
 * that lost it without noticing does no harm, because all runs of a call write the same, under the same ids.
 */
export const createReservations = ({ clock, leaseClock, reservations, announcer }: ReservationsOptions): Reservations => {
  const leaseEnd = (): number => leaseClock.now() + LEASE_MS;

  const hold = (id: string, holder: string, behalf: Behalf): Hold => {
    const renewal = setInterval(() => {
      // A failure is nothing to act on: the lease may run out, and then another run repeats the work.
      reservations.update(id, holder, { leaseUntil: leaseEnd() }, behalf).catch(() => undefined);
    }, RENEW_EVERY_MS);
    renewal.unref();
    const ending =
      <A extends unknown[], T>(end: (...args: A) => Promise<T>): ((...args: A) => Promise<T>) =>
      (...args) => {
        clearInterval(renewal);
        return end(...args);
      };
    return {
      complete: ending((answer: string) => reservations.update(id, holder, { answer, done: true }, behalf)),
      free: ending(() => reservations.remove(id, holder, behalf)),
      release: ending(async () => {
        await reservations.update(id, holder, { leaseUntil: 0 }, behalf);
      }),
    };
  };

  return {
    look: async (id, behalf) => {
      const reservation = await reservations.find(id, behalf);
      return { reservation, state: stateOf(reservation, clock.now(), leaseClock.now()) };
    },
    reserve: async (wanted, former, behalf) => {
      if (former !== null && !(await reservations.remove(former._id, former.holder, behalf))) return undefined;
      const holder = randomUUID();
      const reservation = { ...wanted, holder, leaseUntil: leaseEnd(), expireAt: new Date(wanted.now + KEEP_MS) };
      return (await reservations.insert(reservation, behalf)) ? hold(wanted._id, holder, behalf) : undefined;
    },
    takeOver: async (reservation, behalf) => {
      const holder = randomUUID();
      return (await reservations.takeOver(reservation, holder, leaseEnd(), behalf)) ? hold(reservation._id, holder, behalf) : undefined;
    },
    wasWritten: async ({ collection, id, tag }, eventId, behalf) => {
      const written = await reservations.hasEvent(collection, id, eventId, behalf);
      if (!written) return false;
      const ids = tag === undefined ? [id] : [id, tag];
      announcer.forget(ids);
      await announcer.announce(ids);
      return true;
    },
    isLogged: reservations.isLogged,
  };
};
