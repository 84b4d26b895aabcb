import type { UpdateKeyRequest } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { invalidInput, type ServiceError } from "../../../../platform/base/errors.ts";
import type { Update } from "../../../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../../../platform/storage/port/documents.ts";
import { textOf } from "../../../../platform/util/jsonText.ts";
import { storeRatelimits } from "../../../calls/storedRatelimits.ts";
import { nameKeyOf } from "../../keySearchRepository.ts";
import type { KeyModification } from "../../keysRepository.ts";
import { refillChange, withDueRefills } from "../../refillCredits.ts";
import { storeRefill } from "./keyConfiguration.ts";

/** What an update sets and removes; a field is in one of the two, the last word counts. */
export interface Changes {
  readonly set: <K extends keyof KeyDocument>(field: K, value: NonNullable<KeyDocument[K]>) => void;
  readonly unset: (...fields: (keyof KeyDocument)[]) => void;
  readonly update: () => Update<KeyDocument>;
}

export const createChanges = (): Changes => {
  const $set = new Map<string, unknown>();
  const $unset = new Map<string, "">();
  return {
    set: (field, value) => {
      $unset.delete(field);
      $set.set(field, value);
    },
    unset: (...fields) => {
      for (const field of fields) {
        $set.delete(field);
        $unset.set(field, "");
      }
    },
    update: () => ({ $set: Object.fromEntries($set), ...($unset.size > 0 ? { $unset: Object.fromEntries($unset) } : {}) }),
  };
};

const refillNeedsBalance = (): ServiceError =>
  invalidInput("A refill cannot be configured for a key with unlimited credits.", [
    {
      location: "body.credits.refill",
      message: "a refill needs a finite balance",
      fix: "Set credits.remaining to a number in the same call.",
    },
  ]);

/** Omitted keeps, null removes, a value replaces: the rows of keys §3 for `credits`. */
const changeCredits = (credits: UpdateKeyRequest["credits"], key: KeyDocument, changes: Changes, now: number): void => {
  if (credits?.kind.case === "null") changes.unset("remaining", "refill", "refilledAt");
  if (credits?.kind.case !== "value") return;
  const { remaining, refill } = credits.kind.value;
  if (remaining?.kind.case === "null") changes.unset("remaining", "refill", "refilledAt");
  if (remaining?.kind.case === "value") {
    changes.set("remaining", Number(remaining.kind.value));
    // The new balance discards what was due before it.
    if (key.refilledAt !== undefined) changes.set("refilledAt", withDueRefills(key, now).refilledAt ?? now);
  }
  if (refill?.kind.case === "null") changes.unset("refill", "refilledAt");
  if (refill?.kind.case === "value") {
    const finite = remaining === undefined ? key.remaining !== undefined : remaining.kind.case === "value";
    if (!finite) throw refillNeedsBalance();
    changes.set("refill", storeRefill(refill.kind.value));
    // A new refill waits for the next scheduled instant after it was configured (keys §1.9). Marks never go back: calls
    // may overtake one another, and an instant that the balance contains must not come again under the new schedule.
    changes.set("refilledAt", Math.max(now, key.refilledAt ?? 0));
  }
};

/** What is due under the old schedule is brought in before the schedule changes, unless a new balance discards it. */
export const dueBefore = (credits: UpdateKeyRequest["credits"], key: KeyDocument, now: number): KeyModification | undefined => {
  if (credits?.kind.case !== "value") return undefined;
  const { remaining, refill } = credits.kind.value;
  return remaining === undefined && refill !== undefined ? refillChange(key, now) : undefined;
};

/** The fields that need nothing but the request and the key. */
export const changeFields = (request: UpdateKeyRequest, key: KeyDocument, changes: Changes, now: number): void => {
  const { name, meta, expires, credits, ratelimits, enabled } = request;
  if (name?.kind.case === "null") changes.unset("name", "nameKey");
  if (name?.kind.case === "value") changes.set("name", name.kind.value);
  // Also for a key of an earlier version, which does not have it yet. A backfill may write it at the same time, of the old name.
  const kept = name === undefined ? key.name : name.kind.value;
  if (typeof kept === "string" && (name !== undefined || nameKeyOf(kept) !== key.nameKey)) changes.set("nameKey", nameKeyOf(kept));
  if (meta?.kind.case === "null") changes.unset("meta");
  if (meta?.kind.case === "value") changes.set("meta", textOf(meta.kind.value));
  if (expires !== undefined) changes.unset("expires", "expiresInclusive");
  if (expires?.kind.case === "value") changes.set("expires", Number(expires.kind.value));
  changeCredits(credits, key, changes, now);
  if (ratelimits?.kind.case === "null") changes.set("ratelimits", []);
  if (ratelimits?.kind.case === "value") changes.set("ratelimits", storeRatelimits(ratelimits.kind.value.values, key.ratelimits, now));
  if (enabled !== undefined) changes.set("enabled", enabled);
};
