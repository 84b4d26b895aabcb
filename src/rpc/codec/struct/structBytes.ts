const bytes: unique symbol = Symbol("structBytes");

interface Written {
  [bytes]?: Uint8Array;
}

/** The fields of a `google.protobuf.Struct` as they were written before, for metadata that is text (`jsonText`). */
export const structBytes = (value: object): Uint8Array | undefined => (value as Written)[bytes];

/** Keeps those fields with the text, for as long as that lives. */
export const keepStructBytes = (value: object, fields: Uint8Array): void => {
  (value as Written)[bytes] = fields;
};
