type JsonObject = { [name: string]: never };

const text: unique symbol = Symbol("jsonText");

interface Held {
  readonly [text]?: string;
}

/**
 * A JSON object that stays the text it is, in the place of the object: metadata is stored as text and given back as it
 * is, and half a million values in it are dear to make and dear to write. `json`: compact, as JSON.stringify writes it, but that a
 * name may be there twice where a large body had it twice: readers take the last.
 */
export const jsonText = (json: string): JsonObject => ({ [text]: json }) as unknown as JsonObject;

/** The text of an object that is one; undefined for a plain object. */
export const heldText = (value: object): string | undefined => (value as Held)[text];

/** The compact text of a JSON object, plain or text already. */
export const textOf = (value: object): string => heldText(value) ?? JSON.stringify(value);
