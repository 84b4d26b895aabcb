// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { keySearchesOf } from "../../support/keySearches.ts";
import { everythingIn } from "../../support/written.ts";

everywhere((run) => {
  const { found } = keySearchesOf(run);
  const restricted = (apiId: string): Promise<string> =>
    run.api.createRootKey({ permissions: [`api.${apiId}.read_key`, `api.${apiId}.read_api`] });

  describe("the keys that a caller finds", () => {
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
        ...[{ cursor: made([-1, "", "", ""]) }, { cursor: made(null) }, { cursor: made({}) }, { cursor: "é" }],
      ];
      for (const change of wrong) expectError(await run.call("keys.searchKeys", { ...body, cursor, ...change }), 400, "invalid_input");
    });
  });
});
