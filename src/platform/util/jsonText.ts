type JsonObject = { [name: string]: never };

const text: unique symbol = Symbol("jsonText");

interface Held {
  readonly [text]?: string;
}

/**
 * A JSON object that stays the text it is, in the place of the object: metadata is stored as text and given back as it is,
 * and 100,000 values in it are expensive to make and to write. `json`: compact, as JSON.stringify writes it.
 */
export const jsonText = (json: string): JsonObject => ({ [text]: json }) as unknown as JsonObject;

/** The text that an object has or is; undefined for a plain object. */
export const heldText = (value: object): string | undefined => (value as Held)[text];

/** The compact text of a JSON object. */
export const textOf = (value: object): string => heldText(value) ?? JSON.stringify(value);

/** Keeps with an object that does not change any more its compact text, so that it is written once. */
export const holdText = (value: object, json: string): void => {
  Object.defineProperty(value, text, { value: json });
};

/** Stored metadata as responses show it: absent when there is none or when it is empty. It stays text. */
export const readMeta = (text: string | undefined): JsonObject | undefined =>
  text === undefined || text === "{}" ? undefined : jsonText(text);
