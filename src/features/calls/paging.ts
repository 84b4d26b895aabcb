import type { DescField } from "@bufbuild/protobuf";
import { invalidInput } from "../../platform/base/errors.ts";
import { integerOrDefault } from "../../platform/rpc/description/fieldDefault.ts";
import type { Page, PageRequest } from "../../platform/storage/repositories/shared/page.ts";
import { openCursor, sealCursor } from "./sealedCursor.ts";

/** The fields that requests of lists share (protocol §10). */
interface ListRequest {
  readonly limit?: bigint | undefined;
  readonly cursor: string;
  readonly search?: string;
}

/** Describes such a request. */
interface ListRequestSchema {
  readonly field: { readonly limit: DescField };
}

/** Reads the page that a list is asked for; `schema` is that of its request. */
export const readPageRequest = (schema: ListRequestSchema, { limit, cursor, search }: ListRequest): PageRequest => ({
  limit: integerOrDefault(schema.field.limit, limit),
  cursor,
  ...(search === undefined ? {} : { search }),
});

/** `cursor` is absent on the last page: clients go by it alone (protocol §10). */
export const showPagination = ({ next }: Page<unknown>): { hasMore: boolean; cursor?: string } =>
  next === undefined ? { hasMore: false } : { hasMore: true, cursor: next };

const ownerOf = (list: string, search: string | undefined): string => JSON.stringify([list, search ?? ""]);

/**
 * The page that a list is asked for, where cursors belong to the list and its filter: 400 `invalid_input` at
 * `body.cursor` for one that is damaged, or of another list or search (protocol §10).
 * @param list name of the procedure.
 */
export const readOwnPageRequest = (list: string, schema: ListRequestSchema, request: ListRequest): PageRequest => {
  const cursor = openCursor(ownerOf(list, request.search), request.cursor);
  if (cursor === undefined) {
    const message = "is not a cursor of this list with this search";
    throw invalidInput(`cursor ${message}.`, [
      { location: "body.cursor", message, fix: "Send the cursor of the page before, with the same filter." },
    ]);
  }
  return { ...readPageRequest(schema, request), cursor };
};

/** The counterpart of `readOwnPageRequest`. */
export const showOwnPagination = (list: string, { search }: PageRequest, page: Page<unknown>): { hasMore: boolean; cursor?: string } =>
  showPagination(page.next === undefined ? page : { ...page, next: sealCursor(ownerOf(list, search), page.next) });
