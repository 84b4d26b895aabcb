import type { Override } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { readDuration, readInteger } from "../../../data/readInput.ts";
import type { Change } from "../../../design/values/Diff.tsx";
import { formatDuration } from "../../../design/values/formatDuration.ts";

/** An override as a form has it: what was typed. */
export interface OverrideDraft {
  readonly identifier: string;
  readonly limit: string;
  readonly duration: string;
}

type Values = Pick<Override, "identifier" | "limit" | "duration">;

export const emptyDraft: OverrideDraft = { identifier: "", limit: "", duration: "60000" };

/** A draft that changes nothing. */
export const draftOf = ({ identifier, limit, duration }: Values): OverrideDraft => ({
  identifier,
  limit: String(limit),
  duration: String(duration),
});

/** Why the draft cannot be sent, at its number; undefined: it can. */
export const limitProblem = ({ limit }: OverrideDraft): string | undefined =>
  typeof readInteger(limit) === "bigint" ? undefined : "A whole number; 0 blocks.";

/** Reads the draft. An unreadable number is left out, or 0 where the service then names the bound. */
export const valuesOf = ({ identifier, limit, duration }: OverrideDraft): { identifier: string; limit?: bigint; duration: bigint } => {
  const [readLimit, read] = [readInteger(limit), readDuration(duration)];
  return {
    identifier,
    ...(typeof readLimit === "bigint" ? { limit: readLimit } : {}),
    duration: typeof read === "bigint" ? read : 0n,
  };
};

const limitText = (limit: bigint): string => (limit === 0n ? "0 (blocks)" : limit.toLocaleString("en"));

/** Before → after. @param stored undefined: there is none yet */
export const changesOf = (stored: Values | undefined, draft: OverrideDraft): readonly Change[] => {
  const { identifier, limit = 0n, duration } = valuesOf(draft);
  return [
    { field: "identifier", before: stored?.identifier, after: identifier },
    { field: "limit", before: stored && limitText(stored.limit), after: limitText(limit) },
    { field: "duration", before: stored && formatDuration(stored.duration), after: formatDuration(duration) },
  ].filter(({ before, after }) => before !== after);
};
