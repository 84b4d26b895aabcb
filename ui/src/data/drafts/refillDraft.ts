import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Refill, RefillInterval, type RefillSchema } from "../../../../gen/latchkey/v2/common_pb.ts";
import { readInteger } from "../readInput.ts";

/** A refill as it is typed. */
export interface RefillDraft {
  readonly interval: "daily" | "monthly";
  readonly amount: string;
  /** Of monthly refills. */
  readonly refillDay: string;
}

/** The stored refill, or a new one, for a form to begin with. */
export const refillDraft = (refill: Refill | undefined): RefillDraft => ({
  interval: refill?.interval === RefillInterval.MONTHLY ? "monthly" : "daily",
  amount: refill === undefined ? "" : String(refill.amount),
  refillDay: String(refill?.refillDay ?? 1n),
});

/** As requests have it. A number that cannot be read is left out, which the service refuses at its field. */
export const readRefill = ({ interval, amount, refillDay }: RefillDraft): MessageInitShape<typeof RefillSchema> => {
  const [credits, day] = [readInteger(amount), readInteger(refillDay)];
  return {
    interval: interval === "daily" ? RefillInterval.DAILY : RefillInterval.MONTHLY,
    ...(typeof credits === "bigint" ? { amount: credits } : {}),
    ...(interval === "monthly" && typeof day === "bigint" ? { refillDay: day } : {}),
  };
};

/** A refill in words: "500 monthly, on day 31". */
export const refillText = ({ interval, amount = 0n, refillDay }: MessageInitShape<typeof RefillSchema>): string =>
  interval === RefillInterval.MONTHLY
    ? `${amount.toLocaleString("en")} monthly, on day ${refillDay ?? 1n}`
    : `${amount.toLocaleString("en")} daily`;
