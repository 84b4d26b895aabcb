import type { JsonObject } from "@bufbuild/protobuf";

/** Whole numbers as people write them: 64 bits, exact. @returns undefined for no text, "invalid" for what is no whole number */
export const readInteger = (text: string): bigint | undefined | "invalid" => {
  const digits = text.replaceAll(/[\s,_]/g, "");
  if (digits === "") return undefined;
  return /^-?\d{1,19}$/.test(digits) ? BigInt(digits) : "invalid";
};

/** The value of a `datetime-local` input, which is in the reader's zone, as Unix ms. @returns undefined for no or half a date */
export const readLocalTime = (text: string): bigint | undefined => {
  const time = text === "" ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(time) ? undefined : BigInt(time);
};

const two = (value: number): string => String(value).padStart(2, "0");

/** Unix ms as a `datetime-local` input has it, in the reader's zone; to the millisecond where it has any. */
export const localTimeText = (time: bigint): string => {
  const date = new Date(Number(time));
  const minutes = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
  if (time % 60_000n === 0n) return minutes;
  return `${minutes}:${two(date.getSeconds())}${time % 1000n === 0n ? "" : `.${String(date.getMilliseconds()).padStart(3, "0")}`}`;
};

const units: readonly (readonly [unit: string, milliseconds: bigint])[] = [
  ["d", 86_400_000n],
  ["h", 3_600_000n],
  ["m", 60_000n],
  ["s", 1000n],
];

/** A duration as people write it, `90s`, `15m`, `24h`, `30d`, or in milliseconds: `60000`. @returns milliseconds, as `readInteger` */
export const readDuration = (text: string): bigint | undefined | "invalid" => {
  const { number = "", unit = "" } = /^(?<number>[^a-z]*)(?<unit>[a-z]*)$/i.exec(text.trim())?.groups ?? { number: "?" };
  const value = readInteger(number);
  if (unit === "" || unit === "ms" || typeof value !== "bigint") return unit === "" || typeof value === "bigint" ? value : "invalid";
  const length = units.find(([name]) => name === unit.toLowerCase())?.[1];
  return length === undefined ? "invalid" : value * length;
};

/** Milliseconds as `readDuration` reads them, in the largest unit that is exact: `24h`, `90s`, `1500ms`. */
export const durationText = (duration: bigint): string => {
  const [unit, length] = units.find(([, milliseconds]) => duration !== 0n && duration % milliseconds === 0n) ?? ["ms", 1n];
  return `${duration / length}${unit}`;
};

/** A JSON object. @returns undefined for no text, "invalid" for what is none */
export const readJsonObject = (text: string): JsonObject | undefined | "invalid" => {
  if (text.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : "invalid";
  } catch {
    return "invalid";
  }
};

/** One item a line, or with commas; blanks around them and empty ones are dropped. */
export const readList = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
