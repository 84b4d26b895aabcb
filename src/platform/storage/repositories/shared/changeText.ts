/** Bytes of a value's JSON text that a change tells; what is beyond is cut off (management §4). */
const MOST_BYTES = 1_024;

interface Shown {
  readonly text: string;
  readonly isCut: boolean;
}

/** The JSON text as it is told: one that is too long becomes a JSON string of its beginning, which ends with a whole character. */
const show = (text: string): Shown => {
  // A megabyte need not be encoded to see that it is too much: each unit takes a byte at least.
  const bytes = Buffer.from(text.slice(0, MOST_BYTES + 1), "utf8");
  if (bytes.length <= MOST_BYTES) return { text, isCut: false };
  const start = new TextDecoder().decode(bytes.subarray(0, MOST_BYTES), { stream: true });
  return { text: JSON.stringify(start), isCut: true };
};

const changeOf = (field: string, members: readonly (readonly [string, string | undefined])[]): string => {
  const told = members.flatMap(([name, text]) => (text === undefined ? [] : `,"${name}":${text}`));
  return `{"field":${JSON.stringify(field)}${told.join("")}}`;
};

/** JSON text of `{field, before?, after?, truncated?}`. @param before JSON text; undefined = was not there. */
export const replacedText = (field: string, before: string | undefined, after: string | undefined): string => {
  const [old, next] = [before, after].map((text) => (text === undefined ? undefined : show(text)));
  const isCut = old?.isCut || next?.isCut;
  return changeOf(field, [
    ["before", old?.text],
    ["after", next?.text],
    ["truncated", isCut ? "true" : undefined],
  ]);
};

/** JSON text of `{field, by}`. */
export const addedText = (field: string, by: number): string => changeOf(field, [["by", String(by)]]);

/** JSON text of `{field, redacted: true}`: something secret changed. */
export const redactedText = (field: string): string => changeOf(field, [["redacted", "true"]]);
