import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

const FORBIDDEN = "unkey/authorization/insufficient_permissions";

interface Listed {
  readonly id: string;
  readonly externalId: string;
}

everywhere(
  (run) => {
    const create = async (externalId: string, fields: object = {}): Promise<Listed> => {
      const { identityId } = await run.data("identities.createIdentity", { externalId, ...fields });
      return { id: identityId as string, externalId };
    };
    const page = async (body: object, rootKey?: string) => {
      const answer = await run.call("identities.listIdentities", body, rootKey);
      expect(answer.status, JSON.stringify(answer.body.error)).toBe(200);
      return { items: answer.body.data as Listed[], pagination: answer.body.pagination };
    };
    const found = async (search: string): Promise<string[]> => (await page({ search })).items.map(({ externalId }) => externalId).sort();
    const stemOf = (name: string): string => run.unique(name).replaceAll("-", "");

    describe("search", () => {
      test("[identities listIdentities] search matches part of an externalId or an id, regardless of case", async () => {
        const stem = stemOf("Acme");
        const made = [await create(`${stem}.one`), await create(`x${stem.toLowerCase()}`)];
        await create(stemOf("other"));
        const both = made.map(({ externalId }) => externalId).sort();
        for (const search of [stem, stem.toUpperCase(), stem.toLowerCase(), `  ${stem}\n`]) expect(await found(search)).toEqual(both);
        expect(await found(`${stem}.ONE`)).toEqual([`${stem}.one`]);
        for (const { id, externalId } of made) {
          for (const search of [id, id.toUpperCase(), id.slice(5)]) expect(await found(search)).toEqual([externalId]);
        }
      });

      test("[identities listIdentities] %, _, \\, * and . are literal", async () => {
        const stem = stemOf("lit");
        const [dot, underscore, dash] = [`${stem}.b`, `${stem}_b`, `${stem}-b`];
        for (const externalId of [dot, underscore, dash]) await create(externalId);
        expect(await found(`${stem}.b`)).toEqual([dot]);
        expect(await found(`${stem}_b`)).toEqual([underscore]);
        expect(await found(`${stem}-b`)).toEqual([dash]);
        for (const wild of ["%", "*", ".*", "\\", "\\.", "?", "[-._]", "(", "|", "^", "$", "+", "{1}", "\\x00", "'", '"'])
          expect(await found(`${stem}${wild}`)).toEqual([]);
      });

      test("[identities listIdentities] a search does not reach from the id into the externalId", async () => {
        const { id, externalId } = await create(stemOf("seam"));
        for (const seam of ["", "\n", "\u0000", " ", "|", "\t"])
          expect(await found(`${id.slice(-4)}${seam}${externalId.slice(0, 4)}`)).toEqual([]);
      });

      test("[identities listIdentities] an empty or blank search is no filter, 256 characters are taken", async () => {
        await create(stemOf("any"));
        const { items } = await page({ limit: 3 });
        for (const search of ["", "   ", "\t\n"]) expect((await page({ limit: 3, search })).items).toEqual(items);
        expect((await page({ search: "s".repeat(256) })).items).toEqual([]);
        expect((await page({ limit: 3, search: " ".repeat(256) })).items).toEqual(items);
      });

      test("[identities listIdentities] deleted identities are not listed, by no search", async () => {
        const { id, externalId } = await create(stemOf("gone"));
        await run.data("identities.deleteIdentity", { identity: id });
        expect(await found(id)).toEqual([]);
        expect(await found(externalId)).toEqual([]);
        const again = await create(externalId);
        expect((await page({ search: externalId })).items).toEqual([again]);
      });
    });

    describe("pages", () => {
      const five = async () => {
        const stem = stemOf("page");
        for (let i = 0; i < 5; i++) await create(`${stem}.${i}`, { meta: i % 2 ? {} : { i } });
        return stem;
      };

      test("[identities listIdentities] ascending by identityId, each item an identity object", async () => {
        const stem = await five();
        const { items, pagination } = await page({ search: stem });
        expect(pagination).toEqual({ hasMore: false });
        const ids = items.map(({ id }) => id);
        expect(ids).toEqual([...ids].sort());
        for (const item of items) expect(await run.data("identities.getIdentity", { identity: item.id })).toEqual(item);
      });

      test.each([1, 2, 3, 4, 5, 6, 100])(
        "[identities listIdentities] pages of %i hold everything once, the cursor is absent on the last",
        async (limit) => {
          const stem = await five();
          const all = (await page({ search: stem })).items;
          const seen: Listed[] = [];
          let cursor: string | undefined = "";
          while (cursor !== undefined) {
            const { items, pagination } = await page({ search: stem, limit, cursor });
            seen.push(...items);
            expect(items).toHaveLength(Math.min(limit, all.length - seen.length + items.length));
            expect(pagination).toEqual(seen.length < all.length ? { hasMore: true, cursor: expect.any(String) } : { hasMore: false });
            cursor = pagination?.cursor;
          }
          expect(seen).toEqual(all);
        },
      );

      test("[identities listIdentities] a cursor survives the deletion of its row and can be replayed", async () => {
        const stem = await five();
        const { items, pagination } = await page({ search: stem, limit: 2 });
        const rest = await page({ search: stem, cursor: pagination?.cursor });
        expect(await page({ search: stem, cursor: pagination?.cursor })).toEqual(rest);
        await run.data("identities.deleteIdentity", { identity: rest.items[0]?.id });
        expect((await page({ search: stem, cursor: pagination?.cursor })).items).toEqual(rest.items.slice(1));
        expect(items).toHaveLength(2);
      });

      test("[identities listIdentities] a cursor that was never issued is a position or 400, never 5xx", async () => {
        for (const cursor of ["zzz", "0", "%", "\u0000", "😀", "x".repeat(5000), '{"$gt":""}', " ", "id_"])
          expect([200, 400]).toContain((await run.call("identities.listIdentities", { cursor, limit: 1 })).status);
      });
    });

    describe("permissions", () => {
      test("[identities listIdentities] without any read_identity it is 403, also for an empty page", async () => {
        const caller = await run.api.createRootKey({ permissions: ["identity.*.create_identity", "identity.*.update_identity"] });
        for (const body of [{}, { search: "nothing has this" }]) {
          const { detail } = expectError(await run.call("identities.listIdentities", body, caller), 403, FORBIDDEN);
          expect(detail).toContain("identity.*.read_identity");
        }
      });

      test("[identities listIdentities] a triple lists a page of its identity alone; one foreign row makes it 403", async () => {
        const stem = stemOf("mine");
        const [a, b] = [await create(`${stem}.a`), await create(`${stem}.b`)];
        const caller = await run.api.createRootKey({ permissions: [`identity.${a.id}.read_identity`] });
        expect((await page({ search: `${stem}.a` }, caller)).items).toEqual([a]);
        expect((await page({ search: "nothing has this" }, caller)).items).toEqual([]);
        for (const search of [stem, b.externalId]) {
          const { detail } = expectError(await run.call("identities.listIdentities", { search }, caller), 403, FORBIDDEN);
          expect(detail).toContain("identity.*.read_identity");
          expect(detail).not.toContain(b.id);
        }
        expect(
          (await page({ search: stem }, await run.api.createRootKey({ permissions: ["identity.*.read_identity"] }))).items,
        ).toHaveLength(2);
      });
    });
  },
  ["v2", "grpc"],
);
