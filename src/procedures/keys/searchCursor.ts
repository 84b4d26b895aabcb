import { invalidInput } from "../../domain/errors.ts";
import type { SearchEntry } from "../../storage/keySearch.ts";
import { openCursor, sealCursor } from "../sealedCursor.ts";

/** Where a page of a search ended. */
export interface SearchPlace extends SearchEntry {
  /** Number of the way of finding. */
  readonly way: number;
  /** What this way finds is few, and goes by the id alone; the text is empty then. */
  readonly few: boolean;
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
export const writeSearchCursor = (search: string, { way, few, text, id }: SearchPlace): string =>
  sealCursor(ownerOf(search), Buffer.from(JSON.stringify([way, few, text, id])).toString("base64url"));

/** The place that a cursor stands for; undefined for the empty one. Throws 400 `invalid_input` for any that this search did not give. */
export const readSearchCursor = (search: string, cursor: string): SearchPlace | undefined => {
  const opened = openCursor(ownerOf(search), cursor);
  if (opened === "") return undefined;
  try {
    const [way, few, text, id] = JSON.parse(Buffer.from(opened ?? "", "base64url").toString()) as [number, boolean, string, string];
    const isPlace = Number.isSafeInteger(way) && way >= 0 && typeof few === "boolean" && typeof text === "string" && typeof id === "string";
    if (isPlace) return { way, few, text, id };
  } catch {
    // Not what was given out: refused below.
  }
  throw refuse();
};
