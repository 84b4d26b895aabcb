import type { Answered } from "./answered.ts";

/**
 * What the answers about things of one kind show of them alike each time: an edge writes that once and keeps it with the
 * thing (`Answered.written`). One is made for each kind: edges prepare themselves for it.
 */
export interface FixedFields<S extends Answered = never, M extends object = object> {
  /** Makes the fields that are fixed. */
  readonly show: (source: S) => M;
  /** Names of the fields that are not; every other field of the message is settled. */
  readonly varying: readonly (keyof M & string)[];
}

/** Under these names a message has what it is about, and what of that it leaves out because it is fixed. */
const aboutName: unique symbol = Symbol("about");
const fixedName: unique symbol = Symbol("fixedFields");

/** A message of which fixed fields are to be added. */
export interface Unfinished {
  readonly [aboutName]?: Answered;
  readonly [fixedName]?: FixedFields;
}

/**
 * A message about `source` with the given fields that vary. From the second one on the fixed ones are left to whoever writes it,
 * for much is never asked about again.
 */
export const withFixedFields = <S extends Answered, M extends object>(source: S, fixed: FixedFields<S, M>, varying: M): M => {
  if (!source.answered) {
    source.answered = true;
    return Object.assign(fixed.show(source), varying);
  }
  const message: M & { [aboutName]?: Answered; [fixedName]?: FixedFields } = varying;
  message[aboutName] = source;
  message[fixedName] = fixed as unknown as FixedFields;
  return message;
};

/** What a message is about, where fixed fields of it are to be added. */
export const aboutOf = (message: Unfinished): Answered | undefined => message[aboutName];

/** What is to be added to a message that is about something. */
export const fixedFieldsOf = (message: Unfinished): FixedFields => message[fixedName] as FixedFields;
