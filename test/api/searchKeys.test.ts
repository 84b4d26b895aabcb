import { describe, expect, test } from "vitest";
import { mapLimited } from "../../src/domain/mapLimited.ts";
import { expectError } from "../support/api.ts";
import { everywhere } from "../support/everywhere.ts";
import { everythingIn } from "../support/written.ts";

type Found = Readonly<Record<string, unknown>> & { readonly keyId: string };

everywhere((run) => {
  const search = async (body: object, rootKey?: string): Promise<readonly Found[]> =>
    (await run.call("keys.searchKeys", body, rootKey)).body.data as readonly Found[];
  const found = async (body: object, rootKey?: string): Promise<readonly string[]> =>
    (await search(body, rootKey)).map(({ keyId }) => keyId);
  /** All pages, and how many there were. */
  const walk = async (body: object, limit: number): Promise<{ readonly ids: readonly string[]; readonly pages: number }> => {
    const ids: string[] = [];
    let cursor = "";
    for (let pages = 1; ; pages++) {
      const { data, pagination } = (await run.call("keys.searchKeys", { ...body, limit, cursor })).body as unknown as {
        data: readonly Found[];
        pagination: { hasMore: boolean; cursor?: string };
      };
      expect(data.length).toBeLessThanOrEqual(limit);
      ids.push(...data.map(({ keyId }) => keyId));
      expect(pagination.hasMore).toBe(pagination.cursor !== undefined);
      if (pagination.cursor === undefined) return { ids, pages };
      expect(pagination.cursor.length).toBeLessThanOrEqual(1024);
      cursor = pagination.cursor;
    }
  };
  const restricted = (apiId: string): Promise<string> =>
    run.api.createRootKey({ permissions: [`api.${apiId}.read_key`, `api.${apiId}.read_api`] });

  describe("what is found", () => {
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
      for (const limit of [1, 2, 3, 5, 6]) {
        expect(await walk({ query: text, apiId }, limit)).toEqual({ ids: all, pages: Math.ceil(all.length / limit) });
      }
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

    test("[management §2] many keys of one name, identity or start in two APIs are all found, each once, however small the pages", async () => {
      const apiIds = [await run.createApi(), await run.createApi()];
      const stem = run.unique("many");
      const prefix = stem.replaceAll("-", "");
      const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
      const made = await mapLimited(numbers(130), 8, (i) =>
        run.createKey({ apiId: apiIds[i % 2], prefix, name: `${stem} ${i % 7}`, externalId: `${stem}.${i % 3}` }),
      );
      const ids = made.map(({ keyId }) => keyId).sort();
      for (const query of [stem, `${prefix}_`, stem.toUpperCase()]) {
        for (const limit of [50, 100]) {
          const walked = await walk({ query }, limit);
          expect([...walked.ids].sort()).toEqual(ids);
          expect(walked.pages).toBe(Math.ceil(130 / limit));
        }
      }
      // The same order whatever the pages.
      expect((await walk({ query: stem }, 100)).ids).toEqual((await walk({ query: stem }, 33)).ids);
      const inOne = made.filter((_, i) => i % 2 === 0).map(({ keyId }) => keyId);
      expect((await walk({ apiId: apiIds[0] }, 60)).ids).toEqual(inOne.sort());
      const ofOne = made.filter((_, i) => i % 3 === 0).map(({ keyId }) => keyId);
      expect((await walk({ query: `${stem}.0` }, 20)).ids).toEqual(ofOne.sort());
      expect((await walk({ externalId: `${stem}.0` }, 20)).ids).toEqual(ofOne.sort());
      // Nothing but identities leads to these: none has the text in its name or start.
      const owned = await mapLimited(numbers(105), 8, (i) => run.createKey({ apiId: apiIds[i % 2], externalId: `${stem}_own.${i % 50}` }));
      for (const limit of [40, 100]) {
        const walked = await walk({ query: `${stem}_OWN` }, limit);
        expect([...walked.ids].sort()).toEqual(owned.map(({ keyId }) => keyId).sort());
        expect(walked.pages).toBe(Math.ceil(105 / limit));
      }
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

  describe("who finds what", () => {
    test("[management §2] a key needs read_key and read_api of its API; with none there is an empty page", async () => {
      const { keyId, key, apiId } = await run.createKey({ name: run.unique("mine") });
      const other = await run.createApi();
      const bodies = [{ query: keyId }, { query: key }, { query: key.slice(-4) }, { apiId }, {}];
      for (const permissions of [
        [],
        [`api.${apiId}.read_key`],
        [`api.${apiId}.read_api`],
        ["api.*.read_key", `api.${other}.read_api`],
        [`api.${other}.read_key`, `api.${other}.read_api`],
      ]) {
        const rootKey = await run.api.createRootKey({ permissions });
        for (const body of bodies) {
          expect((await run.call("keys.searchKeys", body, rootKey)).body).toMatchObject({ data: [], pagination: { hasMore: false } });
        }
      }
      for (const permissions of [
        [`api.${apiId}.read_key`, `api.${apiId}.read_api`],
        ["api.*.read_key", `api.${apiId}.read_api`],
        [`api.${apiId}.read_key`, "api.*.read_api"],
      ]) {
        const rootKey = await run.api.createRootKey({ permissions });
        for (const body of bodies) expect(await found(body, rootKey)).toEqual([keyId]);
      }
    });

    test("[management §2] a secret of an API without permission is answered as an unknown one", async () => {
      const { key } = await run.createKey();
      const rootKey = await restricted(await run.createApi());
      const [known, unknown] = [
        await run.call("keys.searchKeys", { query: key }, rootKey),
        await run.call("keys.searchKeys", { query: `${key}x` }, rootKey),
      ];
      expect({ ...known.body, meta: {} }).toEqual({ ...unknown.body, meta: {} });
    });

    test("[management §2] a search writes nothing", async () => {
      const { key, apiId } = await run.createKey({ name: run.unique("unwritten") });
      const before = await everythingIn(run.api.store);
      for (const query of [key, "unwritten", key.slice(-4)]) await found({ query, apiId });
      expect(await everythingIn(run.api.store)).toEqual(before);
    });
  });

  describe("requests", () => {
    test("[management §2] hostile text is text: patterns, ends of ranges, characters of four bytes, halves", async () => {
      const apiId = await run.createApi();
      const names = ["%", "_", ".*", "^a", "a$", "[a-z]", "\\", "'", '"', "$where", "\u0000", "\u{10ffff}", "\ud7ff", "😀".repeat(255)];
      for (const name of names) {
        const { keyId } = await run.createKey({ apiId, name });
        expect([name, await found({ query: name, apiId })]).toEqual([name, [keyId]]);
      }
      for (const query of ["😀".repeat(256), "😀".repeat(512), "a.*", "(", "\u{10ffff}\u{10ffff}"])
        expect(await found({ query, apiId })).toEqual([]);
      expect(await found({ query: "😀".repeat(101), apiId })).toHaveLength(1);
    });

    test("[management §2] bounds of the fields", async () => {
      const ok = [
        ...[{ query: "q" }, { query: "q".repeat(512) }, { limit: 1 }, { limit: 100 }, { cursor: "" }, { expiresBefore: 0 }],
        ...[{ expiresBefore: 4_102_444_800_000 }, { unusedSince: 0 }, { creditsBelow: 0 }, { role: "r".repeat(128) }],
      ];
      for (const body of ok) await run.data("keys.searchKeys", { ...body, apiId: "api_nothing" });
      const refused = [
        ...[{ query: "" }, { query: "q".repeat(513) }, { limit: 0 }, { limit: 101 }, { apiId: "a" }, { apiId: "a-b" }, { externalId: "" }],
        ...[{ role: "" }, { role: "r".repeat(129) }, { permission: "" }],
      ];
      // The tests' own clients of the other edges do not send an integer out of its bounds.
      const outOfBounds = [{ expiresBefore: -1 }, { expiresBefore: 4_102_444_800_001 }, { creditsBelow: -1 }, { unusedSince: -1 }];
      for (const body of [...refused, ...(run.edge === "v2" ? outOfBounds : [])]) {
        expectError(await run.call("keys.searchKeys", body), 400, "application/invalid_input");
      }
    });

    test("[management §2] a cursor that is damaged, made up, or of another query or other filters is refused", async () => {
      const apiId = await run.createApi();
      const name = run.unique("cursor");
      for (let i = 0; i < 3; i++) await run.createKey({ apiId, name });
      const body = { query: name, apiId, limit: 1 };
      const first = (await run.call("keys.searchKeys", body)).body as unknown as { pagination: { cursor: string } };
      const { cursor } = first.pagination;
      // Neither limit nor page before binds it, and it can be used again.
      for (const limit of [1, 2, 2]) expect(await found({ ...body, limit, cursor })).toHaveLength(limit);
      const made = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const wrong = [
        ...[{ query: `${name}x` }, { query: undefined }, { apiId: undefined }, { enabled: true }, { unusedSince: 5 }, { role: "r" }],
        ...[
          { cursor: "x" },
          { cursor: cursor.slice(0, -1) },
          { cursor: `${cursor}A` },
          { cursor: `A${cursor.slice(1)}` },
          { cursor: "key_1" },
        ],
        ...[{ cursor: made([-1, true, "", "", ""]) }, { cursor: made(null) }, { cursor: made({}) }, { cursor: "é" }],
      ];
      for (const change of wrong) expectError(await run.call("keys.searchKeys", { ...body, cursor, ...change }), 400, "invalid_input");
      expect(Buffer.from(cursor, "base64url").toString()).not.toContain(name);
    });

    test("[management §2] what exists throughout is found exactly once while others come and go", async () => {
      const apiId = await run.createApi();
      const name = run.unique("stable");
      const stay: string[] = [];
      for (let i = 0; i < 6; i++) stay.push((await run.createKey({ apiId, name: `${name} ${i % 2}` })).keyId);
      const seen: string[] = [];
      let cursor: string | undefined = "";
      while (cursor !== undefined) {
        const { body } = await run.call("keys.searchKeys", { query: name, apiId, limit: 2, cursor });
        const page = body as unknown as { data: readonly Found[]; pagination: { cursor?: string } };
        seen.push(...page.data.map(({ keyId }) => keyId));
        const { keyId } = await run.createKey({ apiId, name });
        if (seen.length % 4 === 0) await run.data("keys.deleteKey", { keyId });
        cursor = seen.length > 40 ? undefined : page.pagination.cursor;
      }
      expect(seen).toEqual([...new Set(seen)]);
      expect(seen.filter((id) => stay.includes(id)).sort()).toEqual([...stay].sort());
    });
  });
});
