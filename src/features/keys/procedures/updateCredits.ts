import {
  CreditOperation,
  type UpdateCreditsRequest,
  type UpdateCreditsRequestSchema,
  type UpdateCreditsResponseSchema,
} from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { invalidInput, type ServiceError } from "../../../platform/base/errors.ts";
import type { KeyDocument } from "../../../platform/storage/port/documents.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Answer, Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { balanceOf, type KeyModification } from "../keysRepository.ts";
import { MAX_CREDITS } from "../refill.ts";
import { refillChange, withDueRefills } from "../refillCredits.ts";
import { findKey, keyNotFound, type ModifyCreditsDeps, modifyAlone } from "./shared/findKey.ts";
import { showRefill } from "./shared/keyObject.ts";

const refused = (message: string, fix: string): ServiceError => invalidInput(message, [{ location: "body.value", message, fix }]);

/** The balance after the operation; undefined = unlimited. Throws 400 for what cannot be done to this balance. */
const newBalance = (operation: CreditOperation, value: number | undefined, current: number | undefined): number | undefined => {
  if (operation === CreditOperation.SET) return value;
  if (current === undefined) {
    throw refused("The key has unlimited credits, which can be neither incremented nor decremented.", "Set a balance first.");
  }
  const amount = value ?? 0;
  if (operation === CreditOperation.DECREMENT) return Math.max(0, current - amount);
  if (amount > MAX_CREDITS - current) throw refused(`The balance would exceed ${MAX_CREDITS}.`, "Increment by less, or set the balance.");
  return current + amount;
};

/**
 * Adds to, or takes from, whatever the balance is when it is written: a change that had to find the balance as it was
 * read would never come through while several nodes spend from the key. They can only have lowered it meanwhile; all
 * else that changes a balance is a change of the key, after which this one is decided again.
 */
const addition = (operation: CreditOperation, amount: number, remaining: number, updatedAt: number): Omit<KeyModification, "events"> => {
  if (operation === CreditOperation.INCREMENT) return { update: { $set: { updatedAt }, $inc: { remaining: amount } } };
  if (remaining === 0) return { update: { $set: { updatedAt, remaining } } };
  return { update: { $set: { updatedAt }, $inc: { remaining: -amount } }, guard: { remaining: { $gte: amount } } };
};

/** Sets, increases or decreases the balance; concurrent changes and spends all count (keys §9). */
export const updateCredits =
  (deps: ModifyCreditsDeps): Procedure<typeof UpdateCreditsRequestSchema, typeof UpdateCreditsResponseSchema> =>
  async (request: UpdateCreditsRequest, call) => {
    const { keyId, operation } = request;
    const found = await findKey(deps, keyId, call);
    requirePermissions(call.caller, ["api.update_key", found.apiId]);
    const value = request.value?.kind.case === "value" ? Number(request.value.kind.value) : undefined;
    const now = call.receivedAt;

    const decide = (key: KeyDocument): KeyModification | undefined => {
      // A set discards what is due; anything else adds to it, and to the event of its own that it brings.
      const due = operation === CreditOperation.SET ? undefined : refillChange(key, now);
      const current = withDueRefills(key, now);
      const remaining = newBalance(operation, value, current.remaining);
      if (operation !== CreditOperation.SET && value === 0) return undefined;
      const event = auditEvent(auditSource(call), "key.update", `Updated credits of key ${keyId}`, resource("key", keyId, key.name));
      const events = [...(due?.events ?? []), event];
      const updatedAt = Math.max(current.updatedAt ?? 0, now);
      if (remaining === undefined)
        return { update: { $set: { updatedAt }, $unset: { remaining: "", refill: "", refilledAt: "" } }, events };
      const marks = current.refilledAt === undefined ? {} : { refilledAt: current.refilledAt };
      if (operation === CreditOperation.SET) return { update: { $set: { updatedAt, remaining, ...marks } }, events };
      const added = addition(operation, value ?? 0, remaining, updatedAt);
      if (due === undefined) return { ...added, events };
      return { update: { $set: { updatedAt, remaining, ...marks } }, events, guard: balanceOf(key), from: current, told: added.update };
    };
    const answer = (after: KeyDocument): Answer<typeof UpdateCreditsResponseSchema> => {
      const { remaining, refill } = withDueRefills(after, now);
      return {
        data: {
          remaining: { kind: remaining === undefined ? { case: "null", value: 0 } : { case: "value", value: BigInt(remaining) } },
          ...(remaining === undefined || refill === undefined ? {} : { refill: showRefill(refill) }),
        },
      };
    };
    const modify = modifyAlone(deps);
    return change(call, { collection: "keys", modify, found, gone: () => keyNotFound(keyId), answer }, decide);
  };
