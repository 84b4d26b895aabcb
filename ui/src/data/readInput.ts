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

/** One item a line, or with commas; blanks around them and empty ones are dropped. */
export const readList = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
