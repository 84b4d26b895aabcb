const form = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * Reads a point in time as RFC 3339 writes it, in Unix ms; between two milliseconds it is the later one. Undefined for any other text,
 * for days that no calendar has, and for leap seconds.
 */
export const readRfc3339 = (text: string): number | undefined => {
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHour = "0", offsetMinute = "0"] = form.exec(text) ?? [];
  if (year === undefined) return undefined;
  const [wholeHour, wholeMinute, wholeSecond] = [hour, minute, second].map(Number) as [number, number, number];
  if (wholeHour > 23 || wholeMinute > 59 || wholeSecond > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  date.setUTCHours(wholeHour, wholeMinute, wholeSecond);
  const offset = (sign === "-" ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  const [, digits = "", rest = ""] = /^\.(\d{1,3})(\d*)$/.exec(fraction) ?? [];
  const milliseconds = Number(digits.padEnd(3, "0")) + (/[1-9]/.test(rest) ? 1 : 0);
  return date.getTime() + milliseconds - offset;
};

/** In UTC, with milliseconds. */
export const showRfc3339 = (time: number): string => new Date(time).toISOString();
