import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Key } from "../../../../../gen/latchkey/v2/common_pb.ts";
import { CreditOperation, type UpdateCreditsRequestSchema } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { MAX_CREDITS } from "../../../../../src/features/keys/refill.ts";
import { refillText } from "../../../data/drafts/refillDraft.ts";
import { readInteger } from "../../../data/readInput.ts";
import type { Change } from "../../../design/values/Diff.tsx";
import { balanceText } from "../keyChanges.ts";

/** A change of a balance as its form has it. */
export interface CreditsDraft {
  readonly operation: "set" | "increment" | "decrement" | "unlimited";
  /** As it was typed; `unlimited` has none. */
  readonly amount: string;
}

type Credits = Key["credits"];

/** The amount; undefined where the draft has none that can be used. */
const amountOf = ({ operation, amount }: CreditsDraft): bigint | undefined => {
  const read = readInteger(amount);
  return operation !== "unlimited" && typeof read === "bigint" && read >= 0n ? read : undefined;
};

/** Says why the draft cannot be saved; undefined: it can. @param credits what is stored; undefined: unlimited */
export const creditsProblem = (credits: Credits, draft: CreditsDraft): string | undefined => {
  const { operation, amount } = draft;
  if (operation === "unlimited") return credits === undefined ? "The balance is unlimited already." : undefined;
  if (operation !== "set" && credits === undefined) return "The balance is unlimited: set it first.";
  if (readInteger(amount) === undefined) return "Enter an amount.";
  return amountOf(draft) === undefined ? "The amount must be a whole number, 0 or more." : undefined;
};

/** The balance after a change, as the service computes it. */
const balanceAfter = ({ operation }: CreditsDraft, before: bigint, amount: bigint): bigint => {
  if (operation === "set") return amount;
  const sum = operation === "increment" ? before + amount : before - amount;
  if (sum < 0n) return 0n;
  return sum > BigInt(MAX_CREDITS) ? BigInt(MAX_CREDITS) : sum;
};

/** Before → after of every field that the draft changes; none while it cannot be saved. */
export const creditsChanges = (credits: Credits, draft: CreditsDraft): readonly Change[] => {
  if (creditsProblem(credits, draft) !== undefined) return [];
  const amount = amountOf(draft);
  const balance = amount === undefined ? undefined : balanceAfter(draft, credits?.remaining ?? 0n, amount);
  const refill = credits?.refill === undefined ? undefined : refillText(credits.refill);
  return [
    { field: "credits.remaining", before: balanceText(credits?.remaining), after: balanceText(balance) },
    // Unlimited credits have no refill.
    { field: "credits.refill", before: refill, after: balance === undefined ? undefined : refill },
  ].filter(({ before, after }) => before !== after);
};

const operations: Readonly<Record<CreditsDraft["operation"], CreditOperation>> = {
  set: CreditOperation.SET,
  increment: CreditOperation.INCREMENT,
  decrement: CreditOperation.DECREMENT,
  unlimited: CreditOperation.SET,
};

/** The call that makes the change. An amount that cannot be used is sent as 0, never as unlimited. */
export const creditsRequest = (keyId: string, draft: CreditsDraft): MessageInitShape<typeof UpdateCreditsRequestSchema> => ({
  keyId,
  operation: operations[draft.operation],
  value: { kind: draft.operation === "unlimited" ? { case: "null", value: 0 } : { case: "value", value: amountOf(draft) ?? 0n } },
});
