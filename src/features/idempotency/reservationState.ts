import type { IdempotencyDocument } from "../../platform/storage/port/documents.ts";

/**
 * `absent`: there is no reservation. `expired`: its answer is no longer kept. `inProgress`: a run that lives holds it.
 * `abandoned`: its run died, or ended with a 5xx, and left the work to a repeat. `completed`: its answer was given.
 */
export type ReservationState = "absent" | "expired" | "inProgress" | "abandoned" | "completed";

/**
 * `run`: make a reservation, in place of the one that was found, and do the work. `resume`: take the reservation over and
 * finish the work. `wait`: look again shortly. `replay`: give the kept answer. `refuse`: the key belongs to another request.
 */
export type Step = "run" | "resume" | "wait" | "replay" | "refuse";

const steps: Readonly<Record<ReservationState, { readonly sameRequest: Step; readonly otherRequest: Step }>> = {
  absent: { sameRequest: "run", otherRequest: "run" },
  expired: { sameRequest: "run", otherRequest: "run" },
  inProgress: { sameRequest: "wait", otherRequest: "refuse" },
  // Only a 2xx uses a key up: what nobody has an answer to is in no other request's way.
  abandoned: { sameRequest: "resume", otherRequest: "run" },
  completed: { sameRequest: "replay", otherRequest: "refuse" },
};

/**
 * @param now Unix ms, by the clock that answers are kept by.
 * @param leaseNow the same by the clock of leases.
 */
export const stateOf = (
  reservation: Pick<IdempotencyDocument, "expireAt" | "leaseUntil" | "done"> | null,
  now: number,
  leaseNow: number,
): ReservationState => {
  if (reservation === null) return "absent";
  if (reservation.expireAt.getTime() <= now) return "expired";
  if (reservation.done) return "completed";
  return reservation.leaseUntil > leaseNow ? "inProgress" : "abandoned";
};

/** What a call with an Idempotency-Key does next (protocol §2). @param sameRequest the reservation is of the same request; of no weight where there is none. */
export const nextStep = (state: ReservationState, sameRequest: boolean): Step => steps[state][sameRequest ? "sameRequest" : "otherRequest"];
