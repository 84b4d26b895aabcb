import { hash } from "node:crypto";
import { invalidInput } from "../../domain/errors.ts";
import type { SearchEntry } from "../../storage/keySearch.ts";

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

/** Binds a cursor to its search, without saying what is searched, which may be a secret. */
const seal = (search: string, { way, few, text, id }: SearchPlace): string =>
  hash("sha256", JSON.stringify(["searchKeys", search, way, few, text, id]), "base64url").slice(0, 22);

/** @param search query and filters, as text. */
export const writeSearchCursor = (search: string, place: SearchPlace): string =>
  Buffer.from(JSON.stringify([place.way, place.few, place.text, place.id, seal(search, place)])).toString("base64url");

/** The place that a cursor stands for; undefined for the empty one. Throws 400 `invalid_input` for any that this search did not give. */
export const readSearchCursor = (search: string, cursor: string): SearchPlace | undefined => {
  if (cursor === "") return undefined;
  try {
    const bytes = Buffer.from(cursor, "base64url");
    if (bytes.toString("base64url") !== cursor) throw refuse();
    const [way, few, text, id, sealed] = JSON.parse(bytes.toString()) as [number, boolean, string, string, string];
    const place = { way, few, text, id };
    const isPlace = Number.isSafeInteger(way) && way >= 0 && typeof few === "boolean" && typeof text === "string" && typeof id === "string";
    if (isPlace && sealed === seal(search, place)) return place;
  } catch {
    // Not what was given out: refused below.
  }
  throw refuse();
};
