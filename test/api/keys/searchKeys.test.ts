import { describe, expect, test } from "vitest";
import { everywhere } from "../../support/everywhere.ts";
import { keySearchesOf } from "../../support/keySearches.ts";

everywhere((run) => {
  const { search, found, walk } = keySearchesOf(run);

  describe("the found keys", () => {
    test("[management §2] each way finds its keys: id, secret, start, name, externalId, last four characters", async () => {
      const [prefix, name, externalId] = ["srch", run.unique("Näme ΣΑΣ"), run.unique("User.X")];
      const { keyId, key, apiId } = await run.createKey({ prefix, name, externalId });
      await run.createKey({ apiId });
      const queries = [keyId, key, key.slice(0, 9), "srch_", name, name.slice(0, 6), externalId, externalId.slice(0, -1), key.slice(-4)];
      for (const query of queries) expect([query, await found({ query, apiId })]).toEqual([query, [keyId]]);
      for (const query of ["x", `${keyId}x`, keyId.slice(0, -1), `${key}x`, key.slice(1), key.slice(-3), key.slice(-5), name.slice(1)])
        expect([query, await found({ query, apiId })]).toEqual([query, []]);
    });

    test("[management §2] an item is the key as getKey shows it, plus its apiId", async () => {
      const fields = {
        name: run.unique("shown"),
        externalId: run.unique("user"),
        meta: { a: null },
        credits: { remaining: 3 },
        expires: 5,
      };
      const { keyId, apiId } = await run.createKey({ ...fields, permissions: [run.unique("docs.read")] });
      expect(await search({ query: keyId })).toEqual([{ ...(await run.getKey(keyId)), apiId }]);
    });

    test("[management §8] names and externalIds compare without case, start and the last four characters with it", async () => {
      const name = run.unique("ΟΔΥΣΣΕΥΣ");
      const { keyId, key, apiId } = await run.createKey({ prefix: "CaSe", name, externalId: run.unique("User") });
      for (const query of [name.toLowerCase(), name.toUpperCase(), "οδυσς", "uSER"]) expect(await found({ query, apiId })).toEqual([keyId]);
      expect(await found({ query: "CaSe_", apiId })).toEqual([keyId]);
      expect(await found({ query: "case_", apiId })).toEqual([]);
      const [end, swapped] = [key.slice(-4), key.slice(-4).replace(/[a-z]/gi, (c) => (c < "a" ? c.toLowerCase() : c.toUpperCase()))];
      if (end !== swapped) expect(await found({ query: swapped, apiId })).toEqual([]);
    });

    test("[management §2] a key is found by its name as it is now, and by none once it has none or is deleted", async () => {
      const [old, next] = [run.unique("before"), run.unique("after")];
      const { keyId, apiId } = await run.createKey({ name: old });
      await run.data("keys.updateKey", { keyId, name: next });
      expect([await found({ query: old, apiId }), await found({ query: next, apiId })]).toEqual([[], [keyId]]);
      const { keyId: rerolled } = await run.data("keys.rerollKey", { keyId, expiration: 60_000 });
      expect(await found({ query: next, apiId })).toEqual([keyId, rerolled]);
      await run.data("keys.updateKey", { keyId, name: null });
      expect(await found({ query: next, apiId })).toEqual([rerolled]);
      await run.data("keys.deleteKey", { keyId: rerolled });
      expect([await found({ query: next, apiId }), await found({ apiId })]).toEqual([[], [keyId]]);
      await run.data("keys.deleteKey", { keyId, permanent: true });
      expect([await found({ query: keyId }), await found({ apiId })]).toEqual([[], []]);
    });

    test("[management §2] a key of an earlier version is found by its name from its next update on", async () => {
      const [name, externalId] = [run.unique("Old"), run.unique("old.user")];
      const { keyId, apiId } = await run.createKey({ name, externalId });
      await run.api.store.collection("keys").updateOne({ _id: keyId }, { $unset: { nameKey: "", lastFour: "" } });
      expect(await found({ query: name, apiId })).toEqual([]);
      // No other way loses it for that.
      expect(await found({ query: externalId, apiId })).toEqual([keyId]);
      await run.data("keys.updateKey", { keyId, enabled: false });
      expect(await found({ query: name, apiId })).toEqual([keyId]);
    });

    test("[management §2] an identity of an earlier version is found by its externalId as it is, and by its beginning from its next update on", async () => {
      const externalId = run.unique("Earlier");
      const { keyId, apiId } = await run.createKey({ externalId });
      await run.api.store.collection("identities").updateOne({ externalId }, { $unset: { externalKey: "" } });
      const queries = [externalId, externalId.slice(0, -1), externalId.toLowerCase()];
      const each = () => Promise.all(queries.map((query) => found({ query, apiId })));
      expect(await each()).toEqual([[keyId], [], []]);
      await run.data("identities.updateIdentity", { identity: externalId, meta: { seen: true } });
      expect(await each()).toEqual([[keyId], [keyId], [keyId]]);
    });

    test("[management §8] only live identities lead to their keys, and only keys of live APIs are found", async () => {
      const externalId = run.unique("gone");
      const { keyId, apiId } = await run.createKey({ externalId });
      expect([await found({ query: externalId }), await found({ apiId, externalId })]).toEqual([[keyId], [keyId]]);
      await run.data("identities.deleteIdentity", { identity: externalId });
      expect([await found({ query: externalId }), await found({ apiId, externalId })]).toEqual([[], []]);
      await run.data("apis.deleteApi", { apiId });
      expect([await found({ query: keyId }), await found({ apiId })]).toEqual([[], []]);
    });
  });

  describe("filters", () => {
    test("[management §2] without a query it lists by filters, ascending by id, in all APIs", async () => {
      const [first, second] = [await run.createKey({ enabled: false }), await run.createKey({ enabled: false })];
      const rootKey = await run.api.createRootKey({
        permissions: [first, second].flatMap(({ apiId }) => [`api.${apiId}.read_key`, `api.${apiId}.read_api`]),
      });
      expect(await found({}, rootKey)).toEqual([first.keyId, second.keyId].sort());
      expect(await found({ enabled: true }, rootKey)).toEqual([]);
      expect(await found({ apiId: second.apiId }, rootKey)).toEqual([second.keyId]);
    });

    test("[management §8] every filter matches exactly, with and without a query", async () => {
      const [role, slug, inherited] = [run.unique("Role"), run.unique("docs.read"), run.unique("docs.write")];
      await run.data("permissions.createRole", { name: role, permissions: [inherited] });
      const [name, externalId, apiId] = [run.unique("filtered"), run.unique("Owner"), await run.createApi()];
      const { keyId } = await run.createKey({
        ...{ apiId, name, externalId, enabled: false, expires: 1_000, credits: { remaining: 5 }, roles: [role], permissions: [slug] },
      });
      await run.createKey({ apiId, name });
      const matching = [
        ...[{ externalId }, { enabled: false }, { expiresBefore: 1_001 }, { role }, { permission: slug }, { permission: inherited }],
        ...[{ creditsBelow: 6 }, { role, permission: slug, creditsBelow: 6, unusedSince: 1, externalId }],
      ];
      for (const filter of matching) {
        expect([filter, await found({ apiId, ...filter })]).toEqual([filter, [keyId]]);
        expect([filter, await found({ apiId, query: name, ...filter })]).toEqual([filter, [keyId]]);
      }
      const missing = [
        ...[{ externalId: externalId.toLowerCase() }, { expiresBefore: 1_000 }, { role: role.toLowerCase() }, { creditsBelow: 5 }],
        ...[{ permission: slug.toUpperCase() }, { permission: "docs" }, { role: "nobody" }, { externalId: "nobody" }],
      ];
      for (const filter of missing) expect([filter, await found({ apiId, ...filter })]).toEqual([filter, []]);
      expect(await found({ apiId, unusedSince: 0 })).toHaveLength(2);
    });

    test("[management §2] unusedSince finds what was not used at that time or later", async () => {
      const { keyId, apiId } = await run.createKey();
      await run.api.store.collection("keys").updateOne({ _id: keyId }, { $set: { lastUsedAt: 5_000 } });
      expect([await found({ apiId, unusedSince: 5_000 }), await found({ apiId, unusedSince: 5_001 })]).toEqual([[], [keyId]]);
    });

    test("[management §2] a page looks at 1,000 keys at most, and may be short while there are more", async () => {
      const { keyId, apiId } = await run.createKey();
      const document = await run.api.store.collection("keys").findOne({ _id: keyId });
      if (document === null) throw new Error("the key is gone");
      const { hash: _hash, outbox: _outbox, pendingMark: _mark, ...plain } = document;
      const others = Array.from({ length: 1_000 }, (_, i) => ({ ...plain, _id: `${keyId}${String(i).padStart(4, "0")}` }));
      await run.api.store.collection("keys").insertMany(others);
      const last = others.at(-1)?._id ?? "";
      await run.data("keys.updateKey", { keyId: last, enabled: false });
      const { body } = await run.call("keys.searchKeys", { apiId, enabled: false });
      expect(body).toMatchObject({ data: [], pagination: { hasMore: true, cursor: expect.any(String) } });
      expect(await walk({ apiId, enabled: false }, 100)).toEqual({ ids: [last], pages: 2 });
    });
  });
});
