/**
 * Fields of a response message that are the same in many answers. An edge writes them once and keeps what it wrote
 * here, so a part must live as long as what it was made of, and never change.
 */
export interface FixedPart {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Names of the fields that are not in the part; every other field of the message is settled by it. */
  readonly varying: readonly string[];
  /** Its members as JSON text, in the manner of `/v2`; made on first use. */
  json: string | undefined;
  /** Its fields in Protobuf's binary form; made on first use. */
  binary: Uint8Array | undefined;
}

/** Under this name a message has its fixed part. */
const fixedPart: unique symbol = Symbol("fixedPart");

interface Fixed {
  readonly [fixedPart]?: FixedPart;
}

/** @param varying the same array for all parts of a kind: edges prepare themselves for it once. */
export const createFixedPart = <M extends object>(fields: M, varying: readonly (keyof M & string)[]): FixedPart => ({
  fields: fields as Readonly<Record<string, unknown>>,
  varying,
  json: undefined,
  binary: undefined,
});

/** A message of a fixed part and the fields that vary. */
export const withFixedPart = <M extends object>(part: FixedPart, varying: M): M => {
  const message: M & { [fixedPart]?: FixedPart } = varying;
  message[fixedPart] = part;
  return message;
};

/** The fixed part of a message, if it has one. */
export const fixedPartOf = (message: Fixed): FixedPart | undefined => message[fixedPart];

/** The message with all fields its own, for those who write it some other way; messages in it likewise. */
export const withoutFixedParts = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutFixedParts);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries({ ...fixedPartOf(value)?.fields, ...value });
  return Object.fromEntries(entries.map(([name, field]) => [name, withoutFixedParts(field)]));
};
