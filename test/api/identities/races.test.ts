import { describe, expect, test } from "vitest";
import { type Api, expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy } from "../../support/written.ts";

const CALLERS = 12;
const limit = { limit: 10, duration: 60_000 };
const named = (...names: string[]) => names.map((name) => ({ ...limit, name }));

everywhere(
  (run) => {
    /** `CALLERS` calls at once, every second one on the other node. */
    const together = async <T>(call: (caller: number, node: Api) => Promise<T>): Promise<T[]> => {
      const nodes = [run.api, await run.other()] as const;
      return Promise.all(Array.from({ length: CALLERS }, (_, i) => call(i, nodes[i % 2] as Api)));
    };
    const actor = async (): Promise<readonly [name: string, rootKey: string]> => {
      const name = run.unique("actor");
      return [name, await run.api.createRootKey({ name })];
    };
    /** The events of this root key in brief: name, and the types and names of what they are about. */
    const eventsOf = async (name: string): Promise<string[]> =>
      (await eventsBy(run.api.store, name))
        .map(({ event, resources }) => [event, ...resources.map((each) => `${each.type}:${each.name ?? "-"}`)].join(" "))
        .sort();
    const namesIn = (identity: Record<string, unknown>): string[] =>
      ((identity.ratelimits ?? []) as { name: string }[]).map(({ name }) => name);
    const get = (identity: string) => run.data("identities.getIdentity", { identity });

    describe("races", () => {
      test("[identities createIdentity] racing creates with one externalId: one is 200, the others 409", async () => {
        const [name, rootKey] = await actor();
        const externalId = run.unique("raced");
        const answers = await together((i, node) =>
          run.call("identities.createIdentity", { externalId, meta: { i }, ratelimits: named(`limit ${i}`) }, rootKey, node),
        );
        const won = answers.findIndex(({ status }) => status === 200);
        for (const [i, answer] of answers.entries()) if (i !== won) expectError(answer, 409, "unkey/data/identity_already_exists");
        expect(await get(externalId)).toMatchObject({ meta: { i: won }, ratelimits: [{ name: `limit ${won}` }] });
        expect(await eventsOf(name)).toEqual([
          `identity.create identity:${externalId}`,
          `ratelimit.create ratelimit:limit ${won} identity:${externalId}`,
        ]);
      });

      test("[identities, shared limits] parallel createKey calls with one unknown externalId make one identity and all the keys", async () => {
        const [name, rootKey] = await actor();
        const [apiId, externalId] = [await run.createApi(), run.unique("raced")];
        await together((_, node) => run.data("keys.createKey", { apiId, externalId }, rootKey, node));
        const listed = (await run.data("apis.listKeys", { apiId, externalId })) as unknown as { identity: { id: string } }[];
        expect(listed).toHaveLength(CALLERS);
        expect(new Set(listed.map(({ identity }) => identity.id)).size).toBe(1);
        expect((await eventsOf(name)).filter((event) => event.startsWith("identity."))).toEqual([`identity.create identity:${externalId}`]);
      });

      test("[identities updateIdentity] concurrent replacements end in one submitted list, never a mixture", async () => {
        const [name, rootKey] = await actor();
        const externalId = run.unique("raced");
        await run.data("identities.createIdentity", { externalId, ratelimits: named("first") }, rootKey);
        const lists = Array.from({ length: CALLERS }, (_, i) => [`limit ${i}a`, `limit ${i}b`]);
        const answers = await together((i, node) =>
          run.data("identities.updateIdentity", { identity: externalId, ratelimits: named(...(lists[i] ?? [])) }, rootKey, node),
        );
        for (const [i, answer] of answers.entries()) expect(namesIn(answer)).toEqual(lists[i]);
        const final = namesIn(await get(externalId));
        expect(lists).toContainEqual(final);
        // Creations minus deletions equal the number of objects left.
        const events = await eventsOf(name);
        const count = (event: string): number => events.filter((each) => each.startsWith(`${event} `)).length;
        expect(count("identity.update")).toBe(CALLERS);
        expect(count("ratelimit.create")).toBe(1 + 2 * CALLERS);
        expect(count("ratelimit.delete")).toBe(1 + 2 * (CALLERS - 1));
      });

      test("[identities updateIdentity] concurrent changes of meta and limits both survive, in either order", async () => {
        const externalId = run.unique("raced");
        await run.data("identities.createIdentity", { externalId });
        await together((i, node) => {
          const fields = i % 4 < 2 ? { meta: { kept: true } } : { ratelimits: named("kept") };
          return run.data("identities.updateIdentity", { identity: externalId, ...fields }, undefined, node);
        });
        expect(await get(externalId)).toMatchObject({ meta: { kept: true }, ratelimits: [{ name: "kept" }] });
      });

      test("[identities updateIdentity] many updates of different identities do not fail", async () => {
        const ids = await Promise.all(
          Array.from({ length: CALLERS }, async () => {
            const externalId = run.unique("many");
            await run.data("identities.createIdentity", { externalId });
            return externalId;
          }),
        );
        await together((i, node) =>
          Promise.all(
            [0, 1, 2, 3].map((j) =>
              run.data("identities.updateIdentity", { identity: ids[(i + j) % CALLERS], ratelimits: named("abc") }, undefined, node),
            ),
          ),
        );
        for (const id of ids) expect(namesIn(await get(id))).toEqual(["abc"]);
      });

      test("[identities deleteIdentity] racing deletes are 200 or 404, with the events of one", async () => {
        const [name, rootKey] = await actor();
        const externalId = run.unique("raced");
        await run.data("identities.createIdentity", { externalId, ratelimits: named("abc") });
        const answers = await together((_, node) => run.call("identities.deleteIdentity", { identity: externalId }, rootKey, node));
        const lost = answers.filter(({ status }) => status !== 200);
        expect(lost).toHaveLength(CALLERS - 1);
        for (const answer of lost) expectError(answer, 404, "unkey/data/identity_not_found");
        expect(await eventsOf(name)).toEqual([
          `identity.delete identity:${externalId}`,
          `ratelimit.delete ratelimit:abc identity:${externalId}`,
        ]);
      });

      test("[protocol §11] updates that race a deletion: the limits that were made are those that were deleted", async () => {
        for (let round = 0; round < 5; round++) {
          const [name, rootKey] = await actor();
          const externalId = run.unique("raced");
          await run.data("identities.createIdentity", { externalId, ratelimits: named("first") }, rootKey);
          await together(async (i, node) => {
            const [procedure, fields] = i === 7 ? ["deleteIdentity", {}] : ["updateIdentity", { ratelimits: named("first", `limit ${i}`) }];
            const { status } = await run.call(`identities.${procedure}`, { identity: externalId, ...fields }, rootKey, node);
            expect([200, 404]).toContain(status);
          });
          const about = (event: string, events: string[]): string[] =>
            events
              .filter((each) => each.startsWith(event))
              .map((each) => each.split(" ratelimit:")[1] ?? "")
              .sort();
          const events = await eventsOf(name);
          expect(about("ratelimit.delete", events)).toEqual(about("ratelimit.create", events));
        }
      });
    });

    describe("audit", () => {
      test("[identities, audit] create, update and delete: one event per object, sharing the correlation id of the call", async () => {
        const [name, rootKey] = await actor();
        const externalId = run.unique("audited");
        const change = (fields: object) => run.data("identities.updateIdentity", { identity: externalId, ...fields }, rootKey);
        await run.data("identities.createIdentity", { externalId, ratelimits: named("stays", "changes", "goes") }, rootKey);
        await change({ meta: { a: 1 }, ratelimits: [...named("stays", "comes"), { ...limit, name: "changes", limit: 11 }] });
        await run.data("identities.deleteIdentity", { identity: externalId }, rootKey);
        const on = `identity:${externalId}`;
        const events = await eventsBy(run.api.store, name);
        expect(await eventsOf(name)).toEqual(
          [
            `identity.create ${on}`,
            ...["stays", "changes", "goes"].map((each) => `ratelimit.create ratelimit:${each} ${on}`),
            `identity.update ${on}`,
            `ratelimit.create ratelimit:comes ${on}`,
            `ratelimit.update ratelimit:changes ${on}`,
            `ratelimit.delete ratelimit:goes ${on}`,
            `identity.delete ${on}`,
            ...["stays", "comes", "changes"].map((each) => `ratelimit.delete ratelimit:${each} ${on}`),
          ].sort(),
        );
        const calls = Map.groupBy(events, ({ correlationId }) => correlationId);
        expect([...calls.values()].map((each) => each.length).sort()).toEqual([4, 4, 4]);
      });

      test("[protocol §11] no events for reads, refused calls and calls that change nothing", async () => {
        const [name, rootKey] = await actor();
        const externalId = run.unique("quiet");
        const fields = { meta: { a: [1, null], b: "x" }, ratelimits: named("abc") };
        await run.data("identities.createIdentity", { externalId, ...fields });
        await run.data("identities.createIdentity", { externalId: `${externalId}.bare` });
        const calls: readonly (readonly [string, object])[] = [
          ["getIdentity", { identity: externalId }],
          ["listIdentities", { search: externalId }],
          ["updateIdentity", { identity: externalId }],
          ["updateIdentity", { identity: externalId, ...fields }],
          ["updateIdentity", { identity: externalId, ratelimits: fields.ratelimits }],
          ["updateIdentity", { identity: `${externalId}.bare`, meta: {}, ratelimits: [] }],
          ["updateIdentity", { identity: "unknown", meta: {} }],
          ["createIdentity", { externalId }],
          ["createIdentity", { externalId: "" }],
          ["deleteIdentity", { identity: "unknown" }],
        ];
        for (const [procedure, body] of calls) await run.call(`identities.${procedure}`, body, rootKey);
        expect(await eventsOf(name)).toEqual([]);
        await run.data("identities.updateIdentity", { identity: externalId, meta: {} }, rootKey);
        expect(await eventsOf(name)).toEqual([`identity.update identity:${externalId}`]);
      });
    });
  },
  ["v2", "grpc"],
);
