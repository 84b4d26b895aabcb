import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Ratelimit, RatelimitConfigSchema } from "../../../../gen/latchkey/v2/common_pb.ts";
import { durationText, readDuration, readInteger } from "../readInput.ts";

/** A rate limit as it is typed. */
export interface LimitDraft {
  readonly name: string;
  readonly limit: string;
  /** As `readDuration` reads it. */
  readonly duration: string;
  readonly autoApply: boolean;
}

/** A new row of a form. */
export const newLimit: LimitDraft = { name: "", limit: "", duration: "1m", autoApply: true };

/** Stored limits, for a form to begin with. */
export const limitDrafts = (limits: readonly Ratelimit[]): readonly LimitDraft[] =>
  limits.map(({ name, limit, duration, autoApply }) => ({ name, limit: String(limit), duration: durationText(duration), autoApply }));

const known = (value: bigint | undefined | "invalid"): bigint | undefined => (value === "invalid" ? undefined : value);

/** As requests have them. A number that is missing is left out, which the service refuses at its field. */
export const readLimits = (drafts: readonly LimitDraft[]): MessageInitShape<typeof RatelimitConfigSchema>[] =>
  drafts.map(({ name, limit, duration, autoApply }) => {
    const [cost, length] = [known(readInteger(limit)), known(readDuration(duration))];
    return { name, ...(cost === undefined ? {} : { limit: cost }), ...(length === undefined ? {} : { duration: length }), autoApply };
  });

/** Whether every number in them can be read. */
export const limitsReadable = (drafts: readonly LimitDraft[]): boolean =>
  drafts.every(({ limit, duration }) => readInteger(limit) !== "invalid" && readDuration(duration) !== "invalid");

/** Limits in words, one a line: "requests: 100 per 1m, always checked". */
export const limitsText = (
  limits: readonly { readonly name?: string; readonly limit?: bigint; readonly duration?: bigint; readonly autoApply?: boolean }[],
): string =>
  limits
    .map(({ name = "", limit = 0n, duration = 0n, autoApply = false }) => {
      const checked = autoApply ? "always checked" : "checked when named";
      return `${name}: ${limit.toLocaleString("en")} per ${durationText(duration)}, ${checked}`;
    })
    .join("; ");
