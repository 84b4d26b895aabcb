import { expect } from "vitest";
import type { Run } from "./everywhere.ts";

/** An item of keys.searchKeys. */
export type FoundKey = Readonly<Record<string, unknown>> & { readonly keyId: string };

export interface FoundPage {
  readonly data: readonly FoundKey[];
  readonly pagination: { readonly hasMore: boolean; readonly cursor?: string };
}

/** Calls of keys.searchKeys over the edge of a run. */
export interface KeySearches {
  readonly page: (body: object, rootKey?: string) => Promise<FoundPage>;
  readonly search: (body: object, rootKey?: string) => Promise<readonly FoundKey[]>;
  /** The ids of one page. */
  readonly found: (body: object, rootKey?: string) => Promise<readonly string[]>;
  /** The ids of all pages, and how many pages there were. */
  readonly walk: (body: object, limit: number) => Promise<{ readonly ids: readonly string[]; readonly pages: number }>;
}

export const keySearchesOf = (run: Run): KeySearches => {
  const page: KeySearches["page"] = async (body, rootKey) =>
    (await run.call("keys.searchKeys", body, rootKey)).body as unknown as FoundPage;
  const search: KeySearches["search"] = async (body, rootKey) => (await page(body, rootKey)).data;
  return {
    page,
    search,
    found: async (body, rootKey) => (await search(body, rootKey)).map(({ keyId }) => keyId),
    walk: async (body, limit) => {
      const ids: string[] = [];
      let cursor = "";
      for (let pages = 1; ; pages++) {
        const { data, pagination } = await page({ ...body, limit, cursor });
        expect(data.length).toBeLessThanOrEqual(limit);
        ids.push(...data.map(({ keyId }) => keyId));
        expect(pagination.hasMore).toBe(pagination.cursor !== undefined);
        if (pagination.cursor === undefined) return { ids, pages };
        expect(pagination.cursor.length).toBeLessThanOrEqual(1024);
        cursor = pagination.cursor;
      }
    },
  };
};
