/**
 * Fields of a response message that are the same in many answers. An edge writes them once and keeps what it wrote
 * here, so a part must live as long as what it is made of, and that must not change.
 */
export interface FixedPart {
  readonly fields: () => Fields;
  /** Names of the fields that are not in the part; every other field of the message is settled by it. */
  readonly varying: readonly string[];
  /** Its members as JSON text, in the manner of `/v2`; made on first use. */
  json: string | undefined;
  /** Its fields in Protobuf's binary form; made on first use. */
  binary: Uint8Array | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** One is made for every cached key that is used again, hence a class: its method is shared. */
class PartOf<S> implements FixedPart {
  readonly #source: S;
  readonly #show: (source: S) => object;
  readonly varying: readonly string[];
  json: string | undefined = undefined;
  binary: Uint8Array | undefined = undefined;

  constructor(source: S, show: (source: S) => object, varying: readonly string[]) {
    this.#source = source;
    this.#show = show;
    this.varying = varying;
  }

  fields(): Fields {
    return this.#show(this.#source) as Fields;
  }
}

/** Under this name a message has its fixed part. */
const fixedPart: unique symbol = Symbol("fixedPart");

interface Fixed {
  readonly [fixedPart]?: FixedPart;
}

/**
 * @param show makes the fields of `source`; called when an edge writes the part.
 * @param varying the same array for all parts of a kind: edges prepare themselves for it once.
 */
export const createFixedPart = <S, M extends object>(
  source: S,
  show: (source: S) => M,
  varying: readonly (keyof M & string)[],
): FixedPart => new PartOf(source, show, varying);

/** A message of a fixed part and the fields that vary. */
export const withFixedPart = <M extends object>(part: FixedPart, varying: M): M => {
  const message: M & { [fixedPart]?: FixedPart } = varying;
  message[fixedPart] = part;
  return message;
};

/** What answers are about: whether there was one, and the part that the others share. */
export interface Answered {
  answered: boolean;
  /** Made by the second answer, for much is never asked about again. */
  fixedPart: FixedPart | undefined;
}

/** A message about `source`; what of it is fixed is kept with `source` from the second one on. */
export const messageAbout = <S extends Answered, M extends object>(
  source: S,
  show: (source: S) => M,
  varyingNames: readonly (keyof M & string)[],
  varying: M,
): M => {
  if (!source.answered) {
    source.answered = true;
    return Object.assign(show(source), varying);
  }
  source.fixedPart ??= createFixedPart(source, show, varyingNames);
  return withFixedPart(source.fixedPart, varying);
};

/** The fixed part of a message, if it has one. */
export const fixedPartOf = (message: Fixed): FixedPart | undefined => message[fixedPart];
