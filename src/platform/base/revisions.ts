import { hash } from "node:crypto";
import { ServiceError } from "./errors.ts";

/**
 * Which state of an object a caller has seen (management §2), told by an entity tag (RFC 9110 §8.8.3). The tag is the
 * object's own: it changes with every change that somebody makes to the object, and neither by its use (times of last use, credits
 * that verifications spend and schedules refill) nor with what the object names (the roles of a key, the permissions of a
 * role), which has revisions of its own and which no update of the object can overwrite.
 */
export interface RevisedObject {
  readonly _id: string;
  /** Counts changes. */
  readonly revision?: number;
  /** How many of them nobody asked for: a tag does not count them. */
  readonly quietRevisions?: number;
}

/** The strong tag of an object, quotes included. Ids are never used again, so nor are tags; which revision it is, it does not tell. */
export const tagOf = ({ _id, revision = 0, quietRevisions = 0 }: RevisedObject): string =>
  `"${hash("sha256", `${_id}\n${revision - quietRevisions}`, "base64url").slice(0, 22)}"`;

/** What a header `If-Match` names. */
export type Matched = "any" | ReadonlySet<string>;

const entityTag = /(W\/)?"[!#-~\u0080-\uffff]*"/y;

/**
 * Reads `If-Match` (RFC 9110 §13.1.1): `*`, or tags with commas between them, of which some may have nothing before them. A
 * weak tag matches nothing, so it is read and left out. Undefined for what is neither; takes time in proportion to the text.
 */
export const parseIfMatch = (text: string): Matched | undefined => {
  if (text.trim() === "*") return "any";
  const strong = new Set<string>();
  let tags = 0;
  let isSeparated = true;
  for (let at = 0; at < text.length; ) {
    const character = text[at];
    if (character === "," || character === " " || character === "\t") {
      isSeparated ||= character === ",";
      at++;
      continue;
    }
    entityTag.lastIndex = at;
    const found = entityTag.exec(text);
    if (found === null || !isSeparated) return undefined;
    if (found[1] === undefined) strong.add(found[0]);
    tags++;
    isSeparated = false;
    at += found[0].length;
  }
  return tags === 0 ? undefined : strong;
};

/** 412 `data/precondition_failed`. */
export const revisionDiffers = (object: RevisedObject | null): ServiceError =>
  new ServiceError(
    "revision_differs",
    object === null
      ? "There is no such object, and so no revision that If-Match could name."
      : `${object._id} has none of the revisions that If-Match names: it was changed since. Read it again.`,
  );

/** What a call asks of the object that it changes. */
export interface Precondition {
  /** That it exists; whatever its revision. */
  readonly any: boolean;
  /** Throws 412 `data/precondition_failed` unless it holds for the object as it is; null = there is none. */
  readonly ensure: (object: RevisedObject | null) => void;
}

export const createPrecondition = (matched: Matched): Precondition => ({
  any: matched === "any",
  ensure: (object) => {
    if (object === null || (matched !== "any" && !matched.has(tagOf(object)))) throw revisionDiffers(object);
  },
});
