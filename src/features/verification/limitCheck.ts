import type { Answered } from "../../platform/codec/answered.ts";
import type { Check } from "../ratelimit/check.ts";

/** One limit to check in a verification, with the stored facts that its result shows. */
export interface LimitCheck extends Check, Answered {
  /** Empty for a limit that exists only in this call. */
  readonly id: string;
  readonly name: string;
  readonly autoApply: boolean;
}

/** The order in which checks are made and answered. */
export const byName = (a: LimitCheck, b: LimitCheck): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
