import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { everythingIn } from "../../support/written.ts";

const NOT_FOUND = "unkey/data/identity_not_found";
const INVALID = "unkey/application/invalid_input";
const FORBIDDEN = "unkey/authorization/insufficient_permissions";
const limit = { name: "requests", limit: 10, duration: 60_000 };

everywhere(
  (run) => {
    const create = async (fields: object = {}): Promise<{ readonly id: string; readonly externalId: string }> => {
      const externalId = run.unique("user");
      const { identityId } = await run.data("identities.createIdentity", { externalId, ...fields });
      return { id: identityId as string, externalId };
    };
    const get = (identity: unknown): Promise<Record<string, unknown>> => run.data("identities.getIdentity", { identity });
    const update = (identity: unknown, fields: object): Promise<Record<string, unknown>> =>
      run.data("identities.updateIdentity", { identity, ...fields });
    const writesNothing = async (calls: () => Promise<void>): Promise<void> => {
      const before = await everythingIn(run.api.store);
      await calls();
      expect(await everythingIn(run.api.store)).toEqual(before);
    };
    const refused = async (procedure: string, body: object, location?: string): Promise<string> => {
      const error = expectError(await run.call(procedure, body), 400, INVALID);
      if (location !== undefined) expect(error.errors?.map((entry) => entry.location)).toEqual([location]);
      return error.detail;
    };
    const holding = (...permissions: string[]): Promise<string> => run.api.createRootKey({ permissions });

    describe("identities.createIdentity", () => {
      test("[identities createIdentity] the answer is an identityId and nothing else", async () => {
        const data = await run.data("identities.createIdentity", { externalId: run.unique("user") });
        expect(data).toEqual({ identityId: expect.stringMatching(/^id_[a-zA-Z0-9]{16,}$/) });
      });

      test("[identities, common] an identity shows id, externalId, meta and ratelimits; what is empty is absent", async () => {
        const bare = await create();
        expect(await get(bare.id)).toEqual(bare);
        const empty = await create({ meta: {}, ratelimits: [] });
        expect(await get(empty.id)).toEqual(empty);
        const full = await create({ meta: { plan: "pro" }, ratelimits: [limit, { ...limit, name: "tokens", autoApply: true }] });
        expect(await get(full.id)).toEqual({
          ...full,
          meta: { plan: "pro" },
          ratelimits: [
            { ...limit, id: expect.stringMatching(/^rl_[a-zA-Z0-9_]+$/), autoApply: false },
            { ...limit, id: expect.stringMatching(/^rl_[a-zA-Z0-9_]+$/), name: "tokens", autoApply: true },
          ],
        });
      });

      test("[identities createIdentity] externalIds of 1 to 255 characters of the pattern are taken, and are case-sensitive", async () => {
        const stem = run.unique("Acme").replaceAll("-", "_");
        const ids = [stem, stem.toLowerCase(), `${stem}.-_.`, `${stem}${"x".repeat(255 - stem.length)}`, `-${stem}`, `.${stem}`];
        for (const externalId of ids) await run.data("identities.createIdentity", { externalId });
        for (const externalId of ids) expect((await get(externalId)).externalId).toBe(externalId);
      });

      test("[identities createIdentity] an externalId outside its bounds or pattern is 400", async () => {
        await writesNothing(async () => {
          for (const externalId of ["", "x".repeat(256), "a b", "a/b", "a\n", "ä", "a@b", "😀", "a\u0000"]) {
            const error = expectError(await run.call("identities.createIdentity", { externalId }), 400, INVALID);
            expect(error.errors?.[0]?.location, JSON.stringify(externalId)).toBe("body.externalId");
          }
        });
      });

      test("[identities, common] metadata comes back deep-equal, whatever its names and values", async () => {
        const meta = {
          text: "ä\u0000\n😀",
          nested: { null: null, list: [1, -1.5, 1e300, true, null, { "": "" }], deep: { "a.b": { $set: [[]] } } },
          constructor: "c",
          toString: {},
          $where: "1",
          "": 0,
        };
        const parsed = JSON.parse(`{"__proto__":{"x":1},${JSON.stringify(meta).slice(1)}`);
        const { id } = await create({ meta: parsed });
        expect(JSON.stringify((await get(id)).meta)).toContain("__proto__");
        expect((await get(id)).meta).toEqual(parsed);
      });

      test("[identities, common] 100 properties and 1048576 bytes of metadata are taken, one more of either is 400", async () => {
        const properties = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, i]));
        const sized = (bytes: number) => ({ m: "<".repeat(bytes - '{"m":""}'.length) });
        const { id } = await create({ meta: { ...properties(100), p0: properties(300) } });
        await update(id, { meta: sized(1_048_576) });
        await writesNothing(async () => {
          await refused("identities.updateIdentity", { identity: id, meta: properties(101) }, "body.meta");
          const detail = await refused("identities.updateIdentity", { identity: id, meta: sized(1_048_577) }, "body.meta");
          expect(detail).toContain("1048576");
          await refused("identities.createIdentity", { externalId: run.unique("big"), meta: sized(1_048_577) }, "body.meta");
        });
        await update(id, { meta: {} });
      });

      test("[identities createIdentity] a second create is 409 with the externalId in its detail, and changes nothing", async () => {
        const { externalId } = await create({ meta: { first: true }, ratelimits: [limit] });
        await writesNothing(async () => {
          const body = { externalId, meta: { second: true }, ratelimits: [{ ...limit, name: "other" }] };
          const error = expectError(await run.call("identities.createIdentity", body), 409, "unkey/data/identity_already_exists");
          expect(error).toMatchObject({ title: "Conflict", detail: expect.stringContaining(externalId) });
        });
      });

      test("[identities createIdentity] an identity that a key brought into being is 409, too", async () => {
        const externalId = run.unique("implicit");
        const { keyId } = await run.createKey({ externalId });
        expectError(await run.call("identities.createIdentity", { externalId }), 409, "unkey/data/identity_already_exists");
        const shown = (await run.getKey(keyId)).identity as { id: string };
        expect(await get(externalId)).toEqual({ id: shown.id, externalId });
      });

      test("[identities createIdentity] 50 limits are taken, and shown in the order of the request", async () => {
        const limits = Array.from({ length: 50 }, (_, i) => ({ ...limit, name: `limit ${99 - i}` }));
        const { id } = await create({ ratelimits: limits });
        expect(((await get(id)).ratelimits as { name: string }[]).map(({ name }) => name)).toEqual(limits.map(({ name }) => name));
      });

      test.each([
        ["name", ["ab", "n".repeat(129), "😀😀"]],
        ["limit", [0, -1]],
        ["duration", [999, 0, -1000]],
      ])("[identities, common] a limit whose %s is outside its bounds is 400", async (field, values) => {
        for (const value of values) {
          const body = { externalId: run.unique("bad"), ratelimits: [limit, { ...limit, name: "second", [field]: value }] };
          await refused("identities.createIdentity", body, `body.ratelimits[1].${field}`);
        }
      });

      test("[identities, common] limit and duration have no upper bound but 2^53-1; names are case-sensitive and free", async () => {
        const most = Number.MAX_SAFE_INTEGER;
        const ratelimits = [
          { name: "abc", limit: most, duration: most },
          { name: "ABC", limit: 1, duration: 1000 },
          { name: "😀 ä", limit: 1, duration: 1000 },
          { name: "n".repeat(128), limit: 1, duration: 1000 },
        ];
        const { id } = await create({ ratelimits });
        expect((await get(id)).ratelimits).toEqual(ratelimits.map((each) => ({ ...each, id: expect.any(String), autoApply: false })));
      });

      test("[identities createIdentity] two limits of one name are 400, and the detail holds the name", async () => {
        const twice = [limit, { ...limit, name: "twice" }, { ...limit, name: "twice", limit: 1 }];
        const { id } = await create({ ratelimits: [limit] });
        await writesNothing(async () => {
          expect(await refused("identities.createIdentity", { externalId: run.unique("dup"), ratelimits: twice })).toContain("twice");
          expect(await refused("identities.updateIdentity", { identity: id, ratelimits: twice })).toContain("twice");
        });
      });
    });

    describe("identities.getIdentity", () => {
      test("[identities, common] an identity is found by its id and by its externalId, both exactly", async () => {
        const made = await create();
        expect(await get(made.externalId)).toEqual(made);
        for (const identity of [made.id.toUpperCase(), made.externalId.toUpperCase(), ` ${made.id}`, `${made.id}\n`, made.id.slice(0, -1)])
          expectError(await run.call("identities.getIdentity", { identity }), 404, NOT_FOUND);
      });

      test("[identities, common] one string is the id of A and the externalId of B: the id wins, B keeps its own id", async () => {
        const a = await create({ meta: { owner: "a" } });
        const b = await run.data("identities.createIdentity", { externalId: a.id, meta: { owner: "b" } });
        expect(await get(a.id)).toMatchObject({ meta: { owner: "a" } });
        expect(await get(b.identityId)).toMatchObject({ externalId: a.id, meta: { owner: "b" } });
        await update(a.id, { meta: { owner: "still a" } });
        expect(await get(b.identityId)).toMatchObject({ meta: { owner: "b" } });
        await run.data("identities.deleteIdentity", { identity: a.id });
        expect(await get(a.id)).toMatchObject({ id: b.identityId });
      });

      test.each(["getIdentity", "updateIdentity", "deleteIdentity"])(
        "[identities %s] any odd identity is 404, an empty one 400",
        async (name) => {
          const procedure = `identities.${name}`;
          const odd = [
            "@#$%",
            "x".repeat(1000),
            `${"x".repeat(254)}😀`,
            "😀".repeat(255),
            "a\u0000b",
            "\n",
            " ",
            "{}",
            "[]",
            "$where",
            "__proto__",
            '"',
          ];
          for (const identity of odd) expectError(await run.call(procedure, { identity }), 404, NOT_FOUND);
          await refused(procedure, { identity: "" }, "body.identity");
        },
      );

      test("[identities getIdentity] without a permission it is the same 403 for existing and unknown identities", async () => {
        const { id, externalId } = await create();
        const [other, unrelated] = [await holding("identity.id_other1234.read_identity"), await holding("identity.*.update_identity")];
        const details = [];
        for (const caller of [other, unrelated]) {
          for (const identity of [id, externalId, "id_unknown123", "unknown"])
            details.push(expectError(await run.call("identities.getIdentity", { identity }, caller), 403, FORBIDDEN).detail);
        }
        expect(new Set(details).size).toBe(1);
        expect(details[0]).toContain("identity.*.read_identity");
        expect(details[0]).not.toContain("id_other1234");
      });

      test("[identities getIdentity] a triple is for the identityId, also when the request uses the externalId", async () => {
        const [mine, other] = [await create(), await create()];
        const caller = await holding(`identity.${mine.id}.read_identity`, "identity.id_unknown123.read_identity");
        for (const identity of [mine.id, mine.externalId])
          expect(await run.data("identities.getIdentity", { identity }, caller)).toEqual(mine);
        for (const identity of [other.id, other.externalId])
          expectError(await run.call("identities.getIdentity", { identity }, caller), 403, FORBIDDEN);
        expectError(await run.call("identities.getIdentity", { identity: "id_unknown123" }, caller), 404, NOT_FOUND);
        await run.data("identities.deleteIdentity", { identity: mine.id });
        expectError(await run.call("identities.getIdentity", { identity: mine.id }, caller), 404, NOT_FOUND);
        expectError(await run.call("identities.getIdentity", { identity: mine.externalId }, caller), 403, FORBIDDEN);
        const byName = await holding(`identity.${other.externalId}.read_identity`);
        expectError(await run.call("identities.getIdentity", { identity: other.externalId }, byName), 403, FORBIDDEN);
      });
    });

    describe("identities.updateIdentity", () => {
      test("[identities updateIdentity] meta is replaced as a whole, kept when omitted, cleared by {}", async () => {
        const { id, externalId } = await create({ meta: { a: 1, b: { c: 1 } }, ratelimits: [limit] });
        const ratelimits = (await get(id)).ratelimits;
        expect(await update(externalId, { meta: { b: { d: 2 } } })).toEqual({ id, externalId, meta: { b: { d: 2 } }, ratelimits });
        expect(await update(id, { ratelimits: [] })).toEqual({ id, externalId, meta: { b: { d: 2 } } });
        expect(await update(id, { meta: {} })).toEqual({ id, externalId });
        expect(await get(id)).toEqual({ id, externalId });
      });

      test("[identities updateIdentity] a limit of the same name keeps its id, a new one gets one, a missing one goes", async () => {
        const { id } = await create({ ratelimits: [limit, { ...limit, name: "goes" }] });
        const before = (await get(id)).ratelimits as { id: string; name: string }[];
        const sent = [
          { ...limit, name: "comes" },
          { name: "requests", limit: 99, duration: 5000, autoApply: true },
        ];
        const { ratelimits } = (await update(id, { ratelimits: sent })) as { ratelimits: { id: string }[] };
        expect(ratelimits).toEqual([
          { ...sent[0], id: expect.stringMatching(/^rl_/), autoApply: false },
          { ...sent[1], id: before[0]?.id },
        ]);
        expect(before.map((each) => each.id)).not.toContain(ratelimits[0]?.id);
        expect((await get(id)).ratelimits).toEqual(ratelimits);
      });

      test("[identities, common] the limits that getIdentity shows can be sent back; a sent id is ignored", async () => {
        const { id } = await create({ ratelimits: [limit] });
        const shown = await get(id);
        expect(await update(id, { ratelimits: shown.ratelimits })).toEqual(shown);
        expect(await update(id, { ratelimits: [{ ...limit, id: "rl_mine", extra: 1 }] })).toEqual(shown);
      });

      test("[identities updateIdentity] all or nothing: when one part is refused, nothing is changed", async () => {
        const { id } = await create({ meta: { kept: true }, ratelimits: [limit] });
        await writesNothing(async () => {
          await refused("identities.updateIdentity", { identity: id, meta: {}, ratelimits: [{ ...limit, limit: 0 }] });
          await refused("identities.updateIdentity", { identity: id, meta: { m: "x".repeat(1_048_576) }, ratelimits: [] });
        });
      });

      test.each([
        ["updateIdentity", { meta: { x: 1 } }],
        ["deleteIdentity", {}],
      ])("[identities %s] only the wildcard counts: without it 403, known or not", async (name, fields) => {
        const { id } = await create();
        const action = name === "updateIdentity" ? "update_identity" : "delete_identity";
        const callers = [await holding("identity.*.read_identity"), await holding(`identity.id_other1234.${action}`)];
        await writesNothing(async () => {
          for (const caller of callers) {
            for (const identity of [id, "unknown"]) {
              const { detail } = expectError(await run.call(`identities.${name}`, { identity, ...fields }, caller), 403, FORBIDDEN);
              expect(detail).toContain(`identity.*.${action}`);
            }
          }
        });
        await run.data(`identities.${name}`, { identity: id, ...fields }, await holding(`identity.*.${action}`));
      });

      test("[identities createIdentity] without identity.*.create_identity it is 403, before 409", async () => {
        const { externalId } = await create();
        const caller = await holding("identity.*.read_identity", "identity.*.update_identity");
        for (const each of [externalId, run.unique("free")]) {
          const { detail } = expectError(await run.call("identities.createIdentity", { externalId: each }, caller), 403, FORBIDDEN);
          expect(detail).toContain("identity.*.create_identity");
        }
      });
    });

    describe("identities.deleteIdentity", () => {
      test("[identities deleteIdentity] a deleted identity never existed; a second delete is 404", async () => {
        const { id, externalId } = await create();
        expect(await run.data("identities.deleteIdentity", { identity: externalId })).toEqual({});
        for (const procedure of ["getIdentity", "updateIdentity", "deleteIdentity"]) {
          for (const identity of [id, externalId]) expectError(await run.call(`identities.${procedure}`, { identity }), 404, NOT_FOUND);
        }
        expect(await run.data("identities.listIdentities", { search: id })).toEqual([]);
      });

      test("[identities deleteIdentity] delete, create, delete, create with one externalId works without end", async () => {
        const { externalId } = await create({ meta: { old: true }, ratelimits: [limit] });
        const ids = new Set([(await get(externalId)).id]);
        for (let i = 0; i < 5; i++) {
          await run.data("identities.deleteIdentity", { identity: externalId });
          const { identityId } = await run.data("identities.createIdentity", { externalId });
          expect(await get(externalId)).toEqual({ id: identityId, externalId });
          ids.add(identityId);
        }
        expect(ids.size).toBe(6);
      });
    });
  },
  ["v2", "connect", "grpc", "grpc-js"],
);
