import type { Page, PageRequest } from "../storage/page.ts";

const DEFAULT_LIMIT = 100;

/** The fields that requests of lists share (protocol §10). */
interface ListRequest {
  readonly limit?: bigint | undefined;
  readonly cursor: string;
  readonly search?: string;
}

export const readPageRequest = ({ limit, cursor, search }: ListRequest, defaultLimit: number = DEFAULT_LIMIT): PageRequest => ({
  limit: limit === undefined ? defaultLimit : Number(limit),
  cursor,
  ...(search === undefined ? {} : { search }),
});

/** `cursor` is absent on the last page: clients go by it alone (protocol §10). */
export const showPagination = ({ next }: Page<unknown>): { hasMore: boolean; cursor?: string } =>
  next === undefined ? { hasMore: false } : { hasMore: true, cursor: next };
