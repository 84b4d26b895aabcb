import type { JSX } from "preact";
import { clockTime, dateOf, relativeTime, utcTime, zoneTime } from "./formatTime.ts";

export interface TimeProps {
  /** Unix ms; undefined shows `none`. */
  readonly at: bigint | number | undefined;
  /** "never" */
  readonly none?: string;
  /** "3 minutes ago" instead of the date. */
  readonly relative?: boolean;
  /** The time of day to the millisecond, for what happens now. */
  readonly clock?: boolean;
}

/** A time in the reader's zone, in UTC on hover (console §3). */
export const Time = ({ at, none = "–", relative = false, clock = false }: TimeProps): JSX.Element =>
  at === undefined ? (
    <span class="quiet">{none}</span>
  ) : (
    <time dateTime={dateOf(at).toISOString()} title={relative || clock ? `${zoneTime(at)} (${utcTime(at)})` : utcTime(at)}>
      {relative ? relativeTime(at, Date.now()) : clock ? clockTime(at) : zoneTime(at)}
    </time>
  );
