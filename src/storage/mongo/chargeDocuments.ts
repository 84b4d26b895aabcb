import { planCharge } from "../../domain/planCharge.ts";
import type { ChargeAnswer, ChargeRequest, SharedCounter } from "../../domain/sharedCounter.ts";
import { countsUntil } from "../../domain/slidingWindow.ts";
import type { Counters } from "../port/counters.ts";
import { StoreUnavailableError } from "../port/errors.ts";
import type { CounterDocuments } from "./counterDocuments.ts";

/** Every failed attempt means that another node changed the counter; so many in a row mean that something is broken. */
const ATTEMPTS = 50;

/** After held budget may have gone back, no failure may lead to it being given back once more. */
const afterRefund = (error: unknown): unknown =>
  error instanceof StoreUnavailableError
    ? new StoreUnavailableError(error.message, { cause: error, outcomeUnknown: true, tooSlow: error.tooSlow })
    : error;

/**
 * The counters of the port over documents, which know conditional writes but cannot decide a charge: each charge is planned
 * here, and planned again after a read when its write found the document changed.
 */
export const countersOfDocuments = (documents: CounterDocuments): Counters => {
  const step = async (
    key: string,
    request: ChargeRequest,
    read: SharedCounter | null | undefined,
  ): Promise<ChargeAnswer | "refunded" | "changed"> => {
    const plan = planCharge(request, read);
    const until = (seq: number): Date => countsUntil(seq, request.duration);
    switch (plan.kind) {
      case "reread":
        return "changed";
      case "refund":
        await documents.refund(key, request.heldSeq, request.held);
        return "refunded";
      case "refuse": {
        const { state, isStored, setBackFrom } = plan;
        if (setBackFrom !== undefined && !(await documents.roll(key, setBackFrom, state, until(state.seq)))) return "changed";
        return { isGranted: false, amount: 0, counter: state, isStored };
      }
      case "write": {
        const { from, state, amount, ceiling } = plan;
        const { seq } = state;
        const charged = { ...state, current: state.current + amount };
        let counter: SharedCounter | null;
        if (from === null) counter = await documents.open(key, seq, ceiling - amount, amount, until(seq));
        else if (from.seq === seq) counter = await documents.add(key, seq, ceiling - amount, amount);
        else counter = (await documents.roll(key, from, charged, until(seq))) ? charged : null;
        return counter === null ? "changed" : { isGranted: true, amount, counter, isStored: true };
      }
    }
  };

  return {
    isShared: true,
    read: documents.read,
    refund: documents.refund,
    charge: async (key, asked) => {
      let request = asked;
      let read: SharedCounter | null | undefined;
      try {
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
          const done = await step(key, request, read);
          if (typeof done === "object") return done;
          if (done === "refunded") request = { ...request, held: 0 };
          // Other nodes charge the counter, too: for less there is room sooner.
          else if (read !== undefined) request = { ...request, need: Math.floor(request.need / 2), chunk: Math.floor(request.chunk / 2) };
          read = await documents.read(key);
        }
      } catch (error) {
        throw request.held === asked.held ? error : afterRefund(error);
      }
      throw new StoreUnavailableError("a rate limit counter changed too often to be charged");
    },
  };
};
