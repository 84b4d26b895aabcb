import { expect, test } from "vitest";
import { everywhere, type Run } from "../../support/everywhere.ts";

const MONTH = 2_592_000_000;

interface Page {
  readonly data: readonly { readonly overrideId: string; readonly identifier: string }[];
  readonly pagination: { readonly hasMore: boolean; readonly cursor?: string };
}

everywhere(
  (run: Run) => {
    const openNamespace = async (count: number) => {
      const namespace = run.unique("listed");
      await run.data("ratelimit.limit", { namespace, identifier: "first", limit: 10, duration: MONTH });
      const set = async (identifier: string): Promise<string> =>
        (await run.data("ratelimit.setOverride", { namespace, identifier, limit: 5, duration: 60_000 })).overrideId as string;
      const remove = (identifier: string) => run.data("ratelimit.deleteOverride", { namespace, identifier });
      const ids: string[] = [];
      for (let i = 0; i < count; i++) ids.push(await set(`user_${i}`));
      const page = async (fields: object = {}): Promise<Page> => {
        const { status, body } = await run.call("ratelimit.listOverrides", { namespace, ...fields });
        expect(status).toBe(200);
        return body as unknown as Page;
      };
      return { namespace, set, remove, page, ids: ids.sort() };
    };
    const idsOf = ({ data }: Page): string[] => data.map(({ overrideId }) => overrideId);

    test("[ratelimit §10] the items have id, identifier, limit and duration; without overrides data is an empty list", async () => {
      const { page, set } = await openNamespace(0);
      expect(await page()).toMatchObject({ data: [], pagination: { hasMore: false } });
      const overrideId = await set("user*");
      const { data, pagination } = await page();
      expect(data).toEqual([{ overrideId, identifier: "user*", limit: 5, duration: 60_000 }]);
      expect(pagination).toEqual({ hasMore: false });
    });

    test("[ratelimit §10] pages are ascending by id, with 10 by default, and a page that is exactly full and final has no cursor", async () => {
      const { page, ids } = await openNamespace(12);
      const first = await page();
      expect(idsOf(first)).toEqual(ids.slice(0, 10));
      expect(first.pagination).toEqual({ hasMore: true, cursor: expect.stringMatching(/^.{1,1024}$/) });
      const second = await page({ cursor: first.pagination.cursor });
      expect(idsOf(second)).toEqual(ids.slice(10));
      expect(second.pagination).toEqual({ hasMore: false });
      expect((await page({ limit: 12 })).pagination).toEqual({ hasMore: false });
      expect(idsOf(await page({ limit: 100, cursor: "" }))).toEqual(ids);
      const walked: string[] = [];
      for (let cursor: string | undefined = ""; cursor !== undefined; ) {
        const next: Page = await page({ limit: 5, cursor });
        walked.push(...idsOf(next));
        cursor = next.pagination.cursor;
      }
      expect(walked).toEqual(ids);
    });

    test("[ratelimit §10] overrides that exist throughout a walk appear once, even when the cursor's row is deleted, and deleted ones do not", async () => {
      const { page, remove, set, ids } = await openNamespace(8);
      const first = await page({ limit: 3 });
      const all = await page({ limit: 100 });
      const next = all.data[3];
      await remove(next?.identifier ?? "");
      await remove(all.data[6]?.identifier ?? "");
      const added = await set("later");
      const rest = await page({ limit: 100, cursor: first.pagination.cursor });
      const wanted = [...ids.filter((_, i) => i !== 3 && i !== 6), added].sort();
      expect([...idsOf(first), ...idsOf(rest)].sort()).toEqual(wanted);
    });

    test("[ratelimit §10] an unknown cursor is a position, not an error", async () => {
      const { page, ids } = await openNamespace(2);
      for (const [cursor, expected] of [
        ["zzz", []],
        ["rlor", ids],
        ["\u0000", ids],
        ["$where: 1", ids],
      ] as const)
        expect(idsOf(await page({ cursor })), JSON.stringify(cursor)).toEqual(expected);
    });

    test("[ratelimit §10] overrides of other namespaces are not listed", async () => {
      const [one, two] = [await openNamespace(2), await openNamespace(1)];
      expect(idsOf(await one.page())).toEqual(one.ids);
      expect(idsOf(await two.page())).toEqual(two.ids);
    });
  },
  ["v2", "grpc"],
);
