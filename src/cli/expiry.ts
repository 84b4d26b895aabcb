import { UsageError } from "./command.ts";

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Last instant that an expiry may name (rootkeys §2), Unix ms. */
const LATEST = 4_102_444_800_000;

/**
 * Unix ms of a duration from `now` (`90m`, `12h`, `30d`, `4w`), an ISO date (`2030-12-31`: its first instant, UTC) or an ISO
 * time with its offset; undefined for anything else.
 */
export const instantOf = (text: string, now: number): number | undefined => {
  const duration = /^(\d{1,9})([mhdw])$/.exec(text);
  if (duration) return now + Number(duration[1]) * (units[duration[2] ?? ""] ?? Number.NaN);
  const date = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text);
  if (!date) return undefined;
  // Date.parse rolls 30 February over to March.
  const day = Date.parse(`${date[1]}T00:00:00Z`);
  if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date[1]) return undefined;
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
};

/**
 * Reads `--expires`: a duration from now (`90m`, `12h`, `30d`, `4w`), an ISO date (`2030-12-31`: its first instant, UTC)
 * or an ISO time with its offset. Returns Unix ms. Throws `UsageError` unless it lies in the future and before 2100.
 */
export const parseExpiry = (text: string, now: number): number => {
  const instant = instantOf(text, now);
  if (instant === undefined) {
    throw new UsageError(
      `--expires: ${JSON.stringify(text)} is neither a duration such as 30d or 12h nor an ISO date such as 2030-12-31 or 2030-12-31T12:00:00Z`,
    );
  }
  if (instant <= now) throw new UsageError(`--expires: ${text} is not in the future`);
  if (instant > LATEST) throw new UsageError(`--expires: ${text} is after ${new Date(LATEST).toISOString()}`);
  return instant;
};
