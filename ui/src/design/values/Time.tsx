import type { JSX } from "preact";
import { dateOf, relativeTime, utcTime, zoneTime } from "./formatTime.ts";

export interface TimeProps {
  /** Unix ms; undefined shows `none`. */
  readonly at: bigint | number | undefined;
  /** "never" */
  readonly none?: string;
  /** "3 minutes ago" instead of the date. */
  readonly relative?: boolean;
}

/** A time in the reader's zone, in UTC on hover (console §3). */
export const Time = ({ at, none = "–", relative = false }: TimeProps): JSX.Element =>
  at === undefined ? (
    <span class="quiet">{none}</span>
  ) : (
    <time dateTime={dateOf(at).toISOString()} title={relative ? `${zoneTime(at)} (${utcTime(at)})` : utcTime(at)}>
      {relative ? relativeTime(at, Date.now()) : zoneTime(at)}
    </time>
  );
