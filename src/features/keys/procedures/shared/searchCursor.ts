import { invalidInput } from "../../../../platform/base/errors.ts";
import { openCursor, sealCursor } from "../../../calls/sealedCursor.ts";
import type { SearchEntry } from "../../keySearchRepository.ts";

/** Where a page of a search ended. */
export interface SearchPlace {
  /** Number of the way of finding. */
  readonly way: number;
  /** Keys of this way up to this id were shown while it was shown by ids; empty: none was. */
  readonly shownTo: string;
  /** Behind which the way goes on in the order of its index; undefined: from its beginning. */
  readonly after: SearchEntry | undefined;
}

const refuse = (): Error =>
  invalidInput("The cursor is not one of this search.", [
    {
      location: "body.cursor",
      message: "is damaged, or of a search with another query or other filters",
      fix: "Send the cursor of the previous page with the same query and filters, or leave it out.",
    },
  ]);

/** A search is not said by its cursor: it may be for a secret. */
const ownerOf = (search: string): string => JSON.stringify(["keys.searchKeys", search]);

/** @param search query and filters, as text. */
export const writeSearchCursor = (search: string, { way, shownTo, after }: SearchPlace): string =>
  sealCursor(
    ownerOf(search),
    Buffer.from(JSON.stringify([way, shownTo, ...(after === undefined ? [] : [after.text, after.id])])).toString("base64url"),
  );

/** The place that a cursor stands for; undefined for the empty one. Throws 400 `invalid_input` for any that this search did not give. */
export const readSearchCursor = (search: string, cursor: string): SearchPlace | undefined => {
  const opened = openCursor(ownerOf(search), cursor);
  if (opened === "") return undefined;
  try {
    const [way, ...texts] = JSON.parse(Buffer.from(opened ?? "", "base64url").toString()) as [number, ...string[]];
    const [shownTo, text, id] = texts;
    const isPlace = Number.isSafeInteger(way) && way >= 0 && texts.every((each) => typeof each === "string") && shownTo !== undefined;
    if (isPlace && texts.length === 1) return { way, shownTo, after: undefined };
    if (isPlace && text !== undefined && id !== undefined) return { way, shownTo, after: { text, id } };
  } catch {
    // Not what was given out: refused below.
  }
  throw refuse();
};
