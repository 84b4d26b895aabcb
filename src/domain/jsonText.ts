type JsonObject = { [name: string]: never };

const text: unique symbol = Symbol("jsonText");
const binary: unique symbol = Symbol("binary");

interface Held {
  readonly [text]?: string;
  [binary]?: Uint8Array;
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

/** Its fields as those of a `google.protobuf.Struct`, when an edge has written them before. */
export const heldBinary = (value: object): Uint8Array | undefined => (value as Held)[binary];

/** Keeps those fields with a text, for as long as that lives. */
export const holdBinary = (value: object, fields: Uint8Array): void => {
  (value as Held)[binary] = fields;
};
