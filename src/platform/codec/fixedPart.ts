import type { Answered } from "./answered.ts";
import { aboutOf, type FixedFields, fixedFieldsOf, type Unfinished } from "./fixedFields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The fixed fields of what messages are about, as they were written before. One is kept for every key that is verified again, hence a class: its method is shared. */
export class FixedPart {
  readonly #about: Answered;
  readonly #show: (about: Answered) => object;
  /** Names of the fields that are not in the part; every other field of the message is settled by it. */
  readonly varying: readonly string[];
  /** Its members as JSON text, in the manner of `/v2`; made on first use. */
  json: string | undefined = undefined;
  /** Its fields in Protobuf's binary form; made on first use. */
  binary: Uint8Array | undefined = undefined;

  constructor(about: Answered, { show, varying }: FixedFields) {
    this.#about = about;
    this.#show = show as (about: Answered) => object;
    this.varying = varying;
  }

  fields(): Fields {
    return this.#show(this.#about) as Fields;
  }
}

/** The fixed part of a message, if it has one. */
export const fixedPartOf = (message: Unfinished): FixedPart | undefined => {
  const about = aboutOf(message);
  if (about === undefined) return undefined;
  about.written ??= new FixedPart(about, fixedFieldsOf(message));
  return about.written as FixedPart;
};
