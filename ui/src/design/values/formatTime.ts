/** 64-bit Unix milliseconds as a Date. */
export const dateOf = (time: bigint | number): Date => new Date(Number(time));

const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** In the reader's zone and language: "23 Nov 2026, 04:05". */
export const zoneTime = (time: bigint | number): string => inZone.format(dateOf(time));

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
});

/** The time of day in the reader's zone, to the millisecond: "04:05:06.789". */
export const clockTime = (time: bigint | number): string => clock.format(dateOf(time));

/** "2026-11-23 03:05:00 UTC". */
export const utcTime = (time: bigint | number): string =>
  dateOf(time)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");

const steps: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, milliseconds: number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** "3 minutes ago", "in 2 days". @param now Unix ms */
export const relativeTime = (time: bigint | number, now: number): string => {
  const distance = Number(time) - now;
  const [unit, length] = steps.find(([, milliseconds]) => Math.abs(distance) >= milliseconds) ?? (["second", 1000] as const);
  return relative.format(Math.trunc(distance / length), unit);
};
