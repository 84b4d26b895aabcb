/** Whole numbers as people write them: 64 bits, exact. @returns undefined for no text, "invalid" for what is no whole number */
export const readInteger = (text: string): bigint | undefined | "invalid" => {
  const digits = text.replaceAll(/[\s,_]/g, "");
  if (digits === "") return undefined;
  return /^-?\d{1,19}$/.test(digits) ? BigInt(digits) : "invalid";
};

const unitLengths: Readonly<Record<string, bigint>> = { ms: 1n, s: 1000n, m: 60_000n, h: 3_600_000n, d: 86_400_000n };

/** A duration in milliseconds, or with a unit: "60000", "90s", "5m", "1h", "30d". @returns as readInteger */
export const readDuration = (text: string): bigint | undefined | "invalid" => {
  const [, digits = "", unit = ""] = /^(.*?)\s*(ms|[smhd])?$/s.exec(text.trim()) ?? [];
  const count = readInteger(digits);
  if (typeof count === "bigint") return count * (unitLengths[unit] ?? 1n);
  return unit === "" ? count : "invalid";
};

/** The value of a `datetime-local` input, which is in the reader's zone, as Unix ms. @returns undefined for no or half a date */
export const readLocalTime = (text: string): bigint | undefined => {
  const time = text === "" ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(time) ? undefined : BigInt(time);
};

/** One item a line, or with commas; blanks around them and empty ones are dropped. */
export const readList = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
