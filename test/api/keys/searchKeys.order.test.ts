import pMap from "p-map";
import { describe, expect, test } from "vitest";
import { everywhere } from "../../support/everywhere.ts";
import { keySearchesOf } from "../../support/keySearches.ts";

everywhere((run) => {
  const { page, found, walk } = keySearchesOf(run);

  describe("the order", () => {
    test("[management §8] the order is that of the ways, within one that of the ids; each key once, at its first", async () => {
      const apiId = await run.createApi();
      const text = run
        .unique("T")
        .replaceAll(/[^a-zA-Z0-9]/g, "")
        .slice(-10);
      const make = async (fields: object) => (await run.createKey({ apiId, ...fields })).keyId;
      // Made against the order of the ways, and of names against that of the ids.
      const byOwner = [await make({ externalId: `${text}.b` }), await make({ externalId: `${text}.a` })].sort();
      const byName = [await make({ name: `${text} b` }), await make({ name: `${text} a`, externalId: `${text}.a` })].sort();
      const byStart = [await make({ prefix: `${text}z` }), await make({ prefix: `${text}a`, name: text, externalId: `${text}.a` })].sort();
      const all = [...byStart, ...byName, ...byOwner];
      expect(await found({ query: text, apiId })).toEqual(all);
      // No way finds more than four, so pages of four and more have each way by its ids.
      for (const limit of [4, 5, 6]) {
        expect(await walk({ query: text, apiId }, limit)).toEqual({ ids: all, pages: Math.ceil(all.length / limit) });
      }
      // Smaller ones have what does not fit into one in the order of the texts.
      for (const limit of [1, 2, 3]) {
        const { ids, pages } = await walk({ query: text, apiId }, limit);
        expect(pages).toBe(Math.ceil(all.length / limit));
        for (const [i, way] of [byStart, byName, byOwner].entries()) expect(ids.slice(2 * i, 2 * i + 2).sort()).toEqual(way);
      }
    });

    test("[management §8] a way that finds more than a page holds is ordered by its texts, then by ids", async () => {
      const apiIds = [await run.createApi(), await run.createApi()];
      const stem = run.unique("texts");
      const made: { readonly keyId: string; readonly name: string }[] = [];
      for (const [i, end] of ["c", "a", "b", "a", "B", "", "a"].entries()) {
        const name = `${stem}${end}`;
        made.push({ keyId: (await run.createKey({ apiId: apiIds[i % 2], name })).keyId, name });
      }
      const textOf = ({ name }: (typeof made)[number]): string => name.toLowerCase();
      const byIds = made.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
      const byTexts = byIds.toSorted((a, b) => (textOf(a) === textOf(b) ? 0 : textOf(a) < textOf(b) ? -1 : 1));
      for (const [limit, expected] of [
        [1, byTexts],
        [3, byTexts],
        [6, byTexts],
        [7, byIds],
        [100, byIds],
      ] as const) {
        const ids = expected.map(({ keyId }) => keyId);
        expect([limit, await walk({ query: stem }, limit)]).toEqual([limit, { ids, pages: Math.ceil(7 / limit) }]);
      }
    });

    test("[management §8] a page may have another limit than the one before: each key once all the same", async () => {
      const apiId = await run.createApi();
      const stem = run.unique("limits");
      const prefix = stem.replaceAll("-", "").slice(-15);
      const starts = await pMap([0, 1], () => run.createKey({ apiId, prefix, name: `${stem} 0` }), { concurrency: 2 });
      const names = await pMap([5, 4, 3, 2, 1], (i) => run.createKey({ apiId, name: `${prefix} ${i}` }), { concurrency: 1 });
      const all = [...starts, ...names].map(({ keyId }) => keyId);
      for (const limits of [
        [6, 1, 1, 1, 1, 1],
        [1, 100],
        [4, 2, 100],
        [5, 3, 1, 100],
      ]) {
        const ids: string[] = [];
        let cursor: string | undefined = "";
        for (const limit of [...limits, 100]) {
          if (cursor === undefined) break;
          const { data, pagination } = await page({ query: prefix, apiId, limit, cursor });
          ids.push(...data.map(({ keyId }) => keyId));
          cursor = pagination.cursor;
        }
        expect([limits, ids.slice(0, 2).sort(), ids.toSorted()]).toEqual([limits, all.slice(0, 2).sort(), all.toSorted()]);
      }
    });

    test("[management §8] a thousand keys that come before the rest of a few: none of these is missed, and none comes twice", async () => {
      const apiId = await run.createApi();
      const stem = run.unique("grown");
      const prefix = stem.replaceAll("-", "").slice(-15);
      for (let i = 0; i < 4; i++) await run.createKey({ apiId, prefix });
      const few = await pMap([0, 1, 2, 3, 4], (i) => run.createKey({ apiId, name: `${prefix} z${5 - i}` }), { concurrency: 1 });
      const first = await page({ query: prefix, apiId, limit: 6 });
      const shown = first.data.slice(4).map(({ keyId }) => keyId);
      expect(shown).toEqual(
        few
          .map(({ keyId }) => keyId)
          .sort()
          .slice(0, 2),
      );
      const keys = run.api.store.collection("keys");
      const document = (await keys.findOne({ _id: few[0]?.keyId ?? "" })) ?? expect.unreachable();
      const { hash: _hash, outbox: _outbox, pendingMark: _mark, ...plain } = document;
      const arrived = (end: string, count: number) =>
        Array.from({ length: count }, (_, i) => {
          const name = `${prefix} a${end}${i}`;
          return {
            ...plain,
            _id: `${end === "old" ? "key_0" : "key_z"}${run.edge}${end}${String(i).padStart(16, "0")}`,
            name,
            nameKey: name.toLowerCase(),
          };
        });
      await keys.insertMany(arrived("new", 1_000));
      // Ids of a node whose clock is behind.
      await keys.insertMany(arrived("old", 20));
      const rest: string[] = [];
      for (let cursor = first.pagination.cursor; cursor !== undefined; ) {
        const { data, pagination } = await page({ query: prefix, apiId, limit: 50, cursor });
        rest.push(...data.map(({ keyId }) => keyId));
        cursor = pagination.cursor;
      }
      expect(new Set(rest).size).toBe(rest.length);
      expect(rest).not.toEqual(expect.arrayContaining(shown.slice(0, 1)));
      const expected = [
        ...few.map(({ keyId }) => keyId).filter((id) => !shown.includes(id)),
        ...arrived("new", 1_000).map(({ _id }) => _id),
      ];
      expect(rest.toSorted()).toEqual(expected.sort());
    });
  });

  describe("pages", () => {
    test("[management §2] many keys of one name, identity or start in two APIs are all found, each once, however small the pages", async () => {
      const apiIds = [await run.createApi(), await run.createApi()];
      const stem = run.unique("many");
      const prefix = stem.replaceAll("-", "");
      const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
      const made = await pMap(
        numbers(130),
        (i) => run.createKey({ apiId: apiIds[i % 2], prefix, name: `${stem} ${i % 7}`, externalId: `${stem}.${i % 3}` }),
        { concurrency: 8 },
      );
      const ids = made.map(({ keyId }) => keyId).sort();
      for (const query of [stem, `${prefix}_`, stem.toUpperCase()]) {
        for (const limit of [50, 100]) {
          const walked = await walk({ query }, limit);
          expect([...walked.ids].sort()).toEqual(ids);
          expect(walked.pages).toBe(Math.ceil(130 / limit));
        }
      }
      // The order is the same for any page size that needs several pages.
      expect((await walk({ query: stem }, 100)).ids).toEqual((await walk({ query: stem }, 33)).ids);
      const inOne = made.filter((_, i) => i % 2 === 0).map(({ keyId }) => keyId);
      expect((await walk({ apiId: apiIds[0] }, 60)).ids).toEqual(inOne.sort());
      const ofOne = made.filter((_, i) => i % 3 === 0).map(({ keyId }) => keyId);
      expect((await walk({ query: `${stem}.0` }, 20)).ids).toEqual(ofOne.sort());
      expect((await walk({ externalId: `${stem}.0` }, 20)).ids).toEqual(ofOne.sort());
      // Nothing but identities leads to these: none has the text in its name or start.
      const owned = await pMap(numbers(105), (i) => run.createKey({ apiId: apiIds[i % 2], externalId: `${stem}_own.${i % 50}` }), {
        concurrency: 8,
      });
      for (const limit of [40, 100]) {
        const walked = await walk({ query: `${stem}_OWN` }, limit);
        expect([...walked.ids].sort()).toEqual(owned.map(({ keyId }) => keyId).sort());
        expect(walked.pages).toBe(Math.ceil(105 / limit));
      }
    });

    test("[management §2] keys that exist throughout are found exactly once while others are created and deleted", async () => {
      const apiId = await run.createApi();
      const name = run.unique("stable");
      const stay: string[] = [];
      for (let i = 0; i < 6; i++) stay.push((await run.createKey({ apiId, name: `${name} ${i % 2}` })).keyId);
      const seen: string[] = [];
      let cursor: string | undefined = "";
      while (cursor !== undefined) {
        const { data, pagination } = await page({ query: name, apiId, limit: 2, cursor });
        seen.push(...data.map(({ keyId }) => keyId));
        const { keyId } = await run.createKey({ apiId, name });
        if (seen.length % 4 === 0) await run.data("keys.deleteKey", { keyId });
        cursor = seen.length > 40 ? undefined : pagination.cursor;
      }
      expect(seen).toEqual([...new Set(seen)]);
      expect(seen.filter((id) => stay.includes(id)).sort()).toEqual([...stay].sort());
    });
  });
});
