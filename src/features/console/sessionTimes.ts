/** When a session of the console ends, and for how long it is elevated (console §2.3, §2.4). Times are Unix ms, durations ms. */

export interface SessionTimes {
  readonly lastUsedAt: number;
  readonly expiresAt: number;
  readonly elevatedUntil?: number | undefined;
}

/** How long sessions are good for. */
export interface SessionBounds {
  /** Without being used. */
  readonly idle: number;
  /** However much they are used. */
  readonly whole: number;
}

/** From entry of the root key; it is not prolonged by use. */
export const ELEVATION_MS = 300_000;

/** A use so soon after another is not written down. */
const USES_APART_MS = 1_000;

/** The first ms at which it has ended if nobody uses it before. */
export const idleExpiry = ({ lastUsedAt, expiresAt }: SessionTimes, { idle }: SessionBounds): number =>
  Math.min(lastUsedAt + idle, expiresAt);

export const hasEnded = (times: SessionTimes, bounds: SessionBounds, now: number): boolean => now >= idleExpiry(times, bounds);

export const isElevated = ({ elevatedUntil }: SessionTimes, now: number): boolean => elevatedUntil !== undefined && now < elevatedUntil;

/** Whether a use at `now` is worth a write. */
export const renews = ({ lastUsedAt }: SessionTimes, now: number): boolean => now - lastUsedAt >= USES_APART_MS;
