import { describe, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { windowEnd } from "../../../src/platform/storage/counters/slidingWindow.ts";
import { chunks } from "../../../src/platform/util/chunks.ts";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { createTestClock } from "../../support/testClock.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;

interface Counter {
  readonly identifier: string;
  readonly duration: number;
  readonly current: number;
  readonly previous: number;
  readonly held: number;
  readonly remaining?: number;
}

interface Page {
  readonly data: readonly Counter[];
  readonly pagination: { readonly hasMore: boolean; readonly cursor?: string };
}

const expectInvalid = (answer: Answer, location: string): void =>
  expect(expectError(answer, 400, "unkey/application/invalid_input").errors?.map((each) => each.location)).toEqual([location]);

// While the clock is stopped, no budget is returned and no window ends. The clock is ahead of the server's: MongoDB removes
// counters that have expired on its own clock.
const clock = createTestClock(Date.now() + 2 * HOUR);

everywhere(
  (run) => {
    const open = (namespace = run.unique("counted")) => {
      const check = (identifier: string, fields: object = {}) =>
        run.data("ratelimit.limit", { namespace, identifier, limit: 10, duration: HOUR, ...fields });
      const page = async (body: object = {}, rootKey?: string): Promise<Page> => {
        const answer = await run.call("ratelimit.listCounters", { namespace, ...body }, rootKey);
        expect(answer.status).toBe(200);
        return answer.body as unknown as Page;
      };
      const list = async (body: object = {}): Promise<readonly Counter[]> => (await page(body)).data;
      const identifiers = async (body: object = {}): Promise<string[]> => (await list(body)).map(({ identifier }) => identifier);
      const walk = async (body: object): Promise<string[]> => {
        const found: string[] = [];
        for (let cursor: string | undefined = ""; cursor !== undefined; ) {
          const { data, pagination }: Page = await page({ ...body, cursor });
          found.push(...data.map(({ identifier }) => identifier));
          expect(pagination.hasMore).toBe(pagination.cursor !== undefined);
          cursor = pagination.cursor;
        }
        return found;
      };
      return { namespace, check, page, list, identifiers, walk };
    };
    const idOf = async (namespace: string): Promise<string> =>
      (await run.api.store.collection("namespaces").findOne({ workspaceId: "ws_default", name: namespace }))?._id ?? expect.unreachable();

    test("[management §3] a counter is what its identifier has used, and when its window ends; no limit but under an override", async () => {
      const { namespace, check, page } = open();
      for (const cost of [1, 2]) await check("user", { cost });
      const reset = windowEnd(clock.now(), HOUR);
      const want = { identifier: "user", duration: HOUR, current: 3, previous: 0, reset, held: 0 };
      expect(await page()).toMatchObject({ data: [want], pagination: { hasMore: false } });
      expect((await page()).data).toEqual([want]);
      expect((await page()).pagination).toEqual({ hasMore: false });
      expect((await page({ namespace: await idOf(namespace) })).data).toEqual([want]);
    });

    test("[management §3] counters of the present and of the previous window are listed, no older ones", async () => {
      const { check, list } = open();
      await check("user", { cost: 4, duration: MINUTE });
      await check("user", { duration: HOUR });
      clock.advance(MINUTE);
      const [first, second] = await list();
      expect(first).toEqual({
        ...{ identifier: "user", duration: MINUTE, current: 0, previous: 4, held: 0 },
        reset: windowEnd(clock.now(), MINUTE),
      });
      expect(second?.duration).toBe(HOUR);
      await check("user", { cost: 2, duration: MINUTE });
      expect((await list())[0]).toMatchObject({ current: 2, previous: 4 });
      clock.advance(MINUTE);
      expect((await list())[0]).toMatchObject({ current: 0, previous: 2 });
      clock.advance(MINUTE);
      expect((await list()).map(({ duration }) => duration)).toEqual([HOUR]);
    });

    test("[management §8] the order is by identifier, in code points, then by duration", async () => {
      const { check, list, walk } = open();
      const names = ["a", "a:", "a:b", "aa", "a\u0001", "B", "b", "é", "e\u0301", "\uffee", "😀", "😀a", " ", "0"];
      for (const name of names) await check(name);
      for (const duration of [1_000, 999_999, 10_000, 2_592_000_000]) await check("a", { duration });
      const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const want = sorted.flatMap((name) =>
        name === "a" ? [1_000, 10_000, 999_999, HOUR, 2_592_000_000].map((duration) => [name, duration]) : [[name, HOUR]],
      );
      expect((await list()).map(({ identifier, duration }) => [identifier, duration])).toEqual(want);
      expect(await walk({ limit: 1 })).toEqual(want.map(([name]) => name));
      expect(await walk({ limit: 3 })).toEqual(want.map(([name]) => name));
    });

    test("[management §3] identifier is a prefix, case-sensitive and without special characters", async () => {
      const { namespace, check, identifiers, walk } = open();
      const names = ["user_1", "user_10", "user_2", "User_1", "user*", "u", "x", "60000:y", "😀1", "😀2"];
      for (const name of names) await check(name);
      const longer = open(`${namespace}:1`);
      await longer.check("user_3");
      expect(await identifiers({ identifier: "user_1" })).toEqual(["user_1", "user_10"]);
      expect(await identifiers({ identifier: "user" })).toEqual(["user*", "user_1", "user_10", "user_2"]);
      expect(await identifiers({ identifier: "User" })).toEqual(["User_1"]);
      expect(await identifiers({ identifier: "user*" })).toEqual(["user*"]);
      expect(await identifiers({ identifier: "60000" })).toEqual(["60000:y"]);
      expect(await identifiers({ identifier: "😀" })).toEqual(["😀1", "😀2"]);
      for (const identifier of ["user_3", "ser", "user_1 ", ".*", "\u0000", "u".repeat(512)])
        expect(await identifiers({ identifier })).toEqual([]);
      expect(await walk({ identifier: "user_", limit: 2 })).toEqual(["user_1", "user_10", "user_2"]);
      expect(await longer.identifiers()).toEqual(["user_3"]);
    });

    test("[management §8] peeks and denials make no entry", async () => {
      const { namespace, check, list, identifiers } = open();
      await check("peeked", { cost: 0 });
      await check("denied", { cost: 11 });
      const entry = (identifier: string, cost: number) => ({ namespace, identifier, limit: 10, duration: HOUR, cost });
      const { passed } = await run.data("ratelimit.multiLimit", [entry("fits", 1), entry("is too much", 11)]);
      expect(passed).toBe(false);
      await run.data("ratelimit.setOverride", { namespace, identifier: "blocked", limit: 0, duration: HOUR });
      await check("blocked");
      expect(await identifiers()).toEqual([]);
      await check("used", { cost: 10 });
      expect((await check("used")).success).toBe(false);
      expect((await check("used", { cost: 0 })).success).toBe(true);
      // A sorted list is reused for a while: the longer the sorting took, the longer.
      await expect.poll(list, { timeout: 5_000 }).toMatchObject([{ identifier: "used", current: 10 }]);
    });

    test("[management §3] limit, remaining and override are there where an override sets the limit of the counter", async () => {
      const { namespace, check, list } = open();
      const set = async (identifier: string, limit: number, duration = HOUR): Promise<string> =>
        (await run.data("ratelimit.setOverride", { namespace, identifier, limit, duration })).overrideId as string;
      await check("user_1", { cost: 3 });
      await check("user_1", { cost: 2, duration: MINUTE });
      await check("user_2", { cost: 3 });
      const [pattern, exact] = [await set("user_*", 8), await set("user_2", 2)];
      expect(await list()).toMatchObject([
        { identifier: "user_1", duration: MINUTE, current: 2 },
        { identifier: "user_1", duration: HOUR, current: 3, limit: 8, remaining: 5, override: pattern },
        { identifier: "user_2", duration: HOUR, current: 3, limit: 2, remaining: 0, override: exact },
      ]);
      for (const field of ["limit", "remaining", "override"]) expect((await list())[0]).not.toHaveProperty(field);
      await set("user_*", 0);
      expect((await list())[1]).toMatchObject({ limit: 0, remaining: 0 });
      await run.data("ratelimit.deleteOverride", { namespace, identifier: "user_*" });
      expect((await list())[1]).not.toHaveProperty("limit");
      await set("user_*", 9, MINUTE);
      await check("user_1", { duration: HOUR, cost: 1 });
      expect(await list()).toMatchObject([{ duration: MINUTE, current: 3, remaining: 6 }, { duration: HOUR }, {}]);
    });

    test("[management §3] remaining under an override takes the weight of the previous window into account", async () => {
      const { namespace, check, list } = open();
      await check("peeked", { cost: 0 });
      await run.data("ratelimit.setOverride", { namespace, identifier: "user", limit: 20, duration: MINUTE });
      clock.advance(windowEnd(clock.now(), MINUTE) - clock.now());
      await check("user", { cost: 10 });
      clock.advance(MINUTE + MINUTE / 2);
      await check("user", { cost: 2 });
      expect(await list()).toMatchObject([{ current: 2, previous: 10, limit: 20, remaining: 13 }]);
    });

    test("[management §3] budget that nodes hold counts as used, and held is what this one has of it", async () => {
      const { namespace, check, list, page } = open();
      await run.data("ratelimit.limit", { namespace, identifier: "other", limit: 10, duration: HOUR });
      const override = await run.data("ratelimit.setOverride", { namespace, identifier: "user", limit: 1_000, duration: HOUR });
      for (let i = 0; i < 30; i++) await check("user");
      const [, counter = expect.unreachable()] = await list();
      const { current, held, remaining } = counter;
      expect(current - held).toBe(30);
      expect(held).toBeGreaterThan(0);
      expect(remaining).toBe(1_000 - current);
      // Only MongoDB has a second node that serves.
      if (run.engine !== "mongo") return;
      const { body } = await run.call("ratelimit.listCounters", { namespace, identifier: "user" }, undefined, await run.other());
      expect(body.data).toEqual([{ ...counter, held: 0, override: override.overrideId }]);
      expect((await page({ identifier: "user" })).data).toEqual([counter]);
    });

    test("[protocol §10] pages have 100 counters by default, and a page that is exactly full and final has no cursor", async () => {
      const { check, page, walk } = open();
      const names = Array.from({ length: 101 }, (_, i) => `user_${String(i).padStart(3, "0")}`);
      for (const some of chunks(names, 20)) await Promise.all(some.map((name) => check(name)));
      const first = await page();
      expect(first.data.map(({ identifier }) => identifier)).toEqual(names.slice(0, 100));
      expect(first.pagination).toEqual({ hasMore: true, cursor: expect.stringMatching(/^.{1,1024}$/) });
      const last = await page({ cursor: first.pagination.cursor });
      expect(last.data.map(({ identifier }) => identifier)).toEqual(names.slice(100));
      expect(last.pagination).toEqual({ hasMore: false });
      expect((await page({ limit: 100, identifier: "user_0" })).pagination).toEqual({ hasMore: false });
      expect(await walk({ limit: 33 })).toEqual(names);
      expect((await page({ cursor: first.pagination.cursor })).data).toEqual(last.data);
    });

    test("[management §3] counters that exist throughout a walk come exactly once, whatever is counted meanwhile", async () => {
      const { check, page } = open();
      const names = Array.from({ length: 20 }, (_, i) => `user_${String(i).padStart(3, "0")}`);
      await Promise.all(names.map((name) => check(name)));
      const found: string[] = [];
      let added = 0;
      for (let cursor: string | undefined = ""; cursor !== undefined; ) {
        const counted = [...names, `user_0${added % 20}x${added}`, `a${added}`, `z${added++}`].map((name) => check(name));
        const [next]: [Page, ...unknown[]] = await Promise.all([page({ limit: 7, cursor }), ...counted]);
        found.push(...next.data.map(({ identifier }) => identifier));
        cursor = next.pagination.cursor;
      }
      expect(found.filter((name) => names.includes(name))).toEqual(names);
      expect(new Set(found).size).toBe(found.length);
    });

    test("[protocol §10] the longest identifiers fit into a cursor", async () => {
      const { namespace, check, page } = open();
      const names = ["😀".repeat(511).concat("a"), "😀".repeat(511).concat("b")];
      await run.data("ratelimit.limit", { namespace, identifier: "first", limit: 10, duration: HOUR });
      await run.data("ratelimit.setOverride", { namespace, identifier: "*b", limit: 10, duration: Number.MAX_SAFE_INTEGER });
      for (const name of names) await check(name);
      const first = await page({ limit: 1, identifier: "😀" });
      expect([...(first.pagination.cursor ?? "")].length).toBeLessThanOrEqual(1_024);
      const last = await page({ limit: 1, identifier: "😀", cursor: first.pagination.cursor });
      expect([...first.data, ...last.data].map(({ identifier }) => identifier)).toEqual(names);
    });

    test("[protocol §10] a cursor that is damaged, foreign, or of another namespace or prefix is 400", async () => {
      const [one, other] = [open(), open()];
      for (const { check } of [one, other]) for (const name of ["user_1", "user_2"]) await check(name);
      const cursorOf = async ({ page }: typeof one, body: object = {}): Promise<string> =>
        (await page({ limit: 1, ...body })).pagination.cursor ?? expect.unreachable();
      const { namespace } = one;
      const cursor = await cursorOf(one);
      expect((await one.page({ cursor })).data).toHaveLength(1);
      expect((await one.page({ cursor, namespace: await idOf(namespace) })).data).toHaveLength(1);
      const ofNamespaces = (await run.call("ratelimit.listNamespaces", { limit: 1 })).body.pagination?.cursor;
      for (const wrong of [
        ...[await cursorOf(other), await cursorOf(one, { identifier: "user" }), ofNamespaces],
        ...[cursor.slice(1), cursor.slice(0, -1), `${cursor}x`, cursor.split(".")[0], ".", "x", "😀"],
      ]) {
        expectInvalid(await run.call("ratelimit.listCounters", { namespace, cursor: wrong }), "body.cursor");
      }
      expectInvalid(await run.call("ratelimit.listCounters", { namespace, cursor, identifier: "user" }), "body.cursor");
    });

    test("[management §8] bounds: namespace and identifier 1 to 512, limit 1 to 100, cursor up to 1024 characters", async () => {
      const { namespace, check } = open();
      await check("user");
      const call = (body: object): Promise<Answer> => run.call("ratelimit.listCounters", { namespace, ...body });
      for (const wrong of ["", "😀".repeat(513)]) {
        expectInvalid(await call({ namespace: wrong }), "body.namespace");
        expectInvalid(await call({ identifier: wrong }), "body.identifier");
      }
      for (const limit of [0, 101]) expectInvalid(await call({ limit }), "body.limit");
      for (const limit of [1, 100]) expect((await call({ limit })).status).toBe(200);
      for (const identifier of ["u", "😀".repeat(512)]) expect((await call({ identifier })).status).toBe(200);
      for (const length of [1_024, 1_025]) expectInvalid(await call({ cursor: "c".repeat(length) }), "body.cursor");
      expect((await call({ cursor: "" })).status).toBe(200);
      expectError(await call({ namespace: "😀".repeat(512) }), 404, "unkey/data/ratelimit_namespace_not_found");
    });

    test("[management §8] an unknown or deleted namespace is 404 for every caller, then 403", async () => {
      const [one, other] = [open(), open()];
      for (const { check } of [one, other]) await check("user");
      const [id, otherId] = [await idOf(one.namespace), await idOf(other.namespace)];
      const call = (namespace: string, rootKey?: string): Promise<Answer> => run.call("ratelimit.listCounters", { namespace }, rootKey);
      const permissions = [`ratelimit.${otherId}.read_namespace`, "ratelimit.*.limit", "ratelimit.*.read_override"];
      const stranger = await run.api.createRootKey({ permissions });
      for (const name of [one.namespace, id]) {
        const { detail } = expectError(await call(name, stranger), 403, "unkey/authorization/insufficient_permissions");
        expect(detail).toContain(`ratelimit.${id}.read_namespace or ratelimit.*.read_namespace`);
      }
      expect((await call(other.namespace, stranger)).status).toBe(200);
      for (const holds of [`ratelimit.${id}.read_namespace`, "ratelimit.*.read_namespace"]) {
        expect((await call(one.namespace, await run.api.createRootKey({ permissions: [holds] }))).status).toBe(200);
      }
      await run.data("ratelimit.deleteNamespace", { namespace: one.namespace });
      for (const rootKey of [undefined, stranger]) {
        for (const name of [one.namespace, id, "unknown"]) {
          expectError(await call(name, rootKey), 404, "unkey/data/ratelimit_namespace_not_found");
        }
      }
    });

    test("[ratelimit §3] limits of keys are no counters of a namespace that is called like them", async () => {
      const { namespace, check, identifiers } = open();
      await check("user");
      const limit = { name: namespace, limit: 10, duration: HOUR, autoApply: true };
      const { key } = await run.createKey({ ratelimits: [limit] });
      await run.verify(key);
      expect(await identifiers()).toEqual(["user"]);
    });
  },
  undefined,
  { clock },
);

describe("with a running clock", () => {
  everywhere(
    (run) => {
      test("[management §8] a counter is visible within 5 s, on every node", async () => {
        const namespace = run.unique("soon");
        await run.data("ratelimit.limit", { namespace, identifier: "user", limit: 10, duration: HOUR });
        const nodes = run.engine === "mongo" ? [run.api, await run.other()] : [run.api];
        for (const node of nodes) {
          const list = async () => (await run.call("ratelimit.listCounters", { namespace }, undefined, node)).body.data;
          await expect.poll(list, { timeout: 5_000 }).toMatchObject([{ identifier: "user" }]);
        }
      });
    },
    ["v2"],
  );
});
