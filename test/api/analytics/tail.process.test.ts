// @same-on-every-engine
import { afterAll, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { embeddedAnalytics } from "../../support/analytics.ts";
import { expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";

const analytics = embeddedAnalytics();
afterAll(analytics.remove);

const forbidden = "unkey/authorization/insufficient_permissions";
const WAIT = 20_000;

interface Tailed {
  readonly events: readonly Record<string, unknown>[];
  readonly cursor: string;
  readonly dropped: number;
}

/** Follows what is asked for over the edge of a run. */
const follow = (run: Run) => {
  const call = (body: object, rootKey?: string): Promise<Answer> => run.call("analytics.tail", { kind: "verifications", ...body }, rootKey);
  const data = async (body: object, rootKey?: string): Promise<Tailed> =>
    (await run.data("analytics.tail", { kind: "verifications", ...body }, rootKey)) as unknown as Tailed;
  /** Until so many events have come. */
  const collect = async (start: Tailed, count: number, body: object = {}, rootKey?: string) => {
    const events: Record<string, unknown>[] = [];
    let { cursor } = start;
    while (events.length < count) {
      const found = await data({ ...body, cursor, waitMs: WAIT }, rootKey);
      expect(found.dropped).toBe(0);
      events.push(...found.events);
      cursor = found.cursor;
    }
    return { events, cursor };
  };
  /** Places of what is wrong with a request. */
  const wrong = async (body: object): Promise<string[]> =>
    (expectError(await call(body), 400, "application/invalid_input").errors ?? []).map(({ location }) => location).sort();
  return { call, data, collect, wrong };
};

everywhere(
  (run) => {
    const { call, data, collect, wrong } = follow(run);

    test("[management §6] tail without a cursor gives what reaches analytics after the call, as it arrives, with the columns of the raw table", async () => {
      const { key, keyId, apiId } = await run.createKey({ externalId: "alice", credits: { remaining: 5 } });
      const filter = { keyId: [keyId] };
      const before = await data({ filter });
      expect(before).toEqual({ events: [], cursor: expect.stringMatching(/^\S+$/), dropped: 0 });
      await run.verify(key, { tags: ["a", "b"], credits: { cost: 2 } });
      const { events, cursor } = await collect(before, 1, { filter });
      expect(events).toEqual([
        {
          request_id: expect.stringMatching(/^req_/),
          time: expect.any(Number),
          workspace_id: expect.any(String),
          key_space_id: apiId,
          identity_id: expect.any(String),
          external_id: "alice",
          key_id: keyId,
          region: "local",
          source: "api",
          app_id: "",
          outcome: "VALID",
          tags: ["a", "b"],
          spent_credits: 2,
          latency: expect.any(Number),
        },
      ]);
      const query = `SELECT * FROM key_verifications_v1 WHERE key_id = '${keyId}'`;
      const rows = async () => run.data("analytics.getVerifications", { query });
      await expect.poll(rows).toEqual(events);
      // Nothing twice, nothing of before.
      expect((await data({ filter })).events).toEqual([]);
      expect((await data({ filter, cursor })).events).toEqual([]);
      expect((await data({ filter, cursor: before.cursor })).events).toEqual(events);
    });

    test("[management §6] tail of rate limits gives their events", async () => {
      const namespace = run.unique("tail");
      const identifier = run.unique("user");
      const filter = { identifier: [identifier] };
      const start = await data({ kind: "ratelimits", filter });
      for (let i = 0; i < 3; i++) await run.data("ratelimit.limit", { namespace, identifier, limit: 2, duration: 60_000 });
      const { events } = await collect(start, 3, { kind: "ratelimits", filter });
      expect(events.map(({ passed, remaining, tokens, limit }) => [passed, remaining, tokens, limit])).toEqual([
        ...[
          [true, 1, 1, 2],
          [true, 0, 1, 2],
        ],
        [false, 0, 1, 2],
      ]);
      expect(Object.keys(events[0] ?? {}).sort()).toEqual(
        ["request_id", "time", "workspace_id", "namespace_id", "identifier", "passed", "latency", "override_id"]
          .concat(["limit", "remaining", "reset_at", "tokens"])
          .sort(),
      );
    });

    test("[management §6] tail gives at most limit events, 100 by default, and continues where it stopped", async () => {
      const { key, keyId } = await run.createKey();
      const filter = { keyId: [keyId] };
      const start = await data({ filter });
      await Promise.all(Array.from({ length: 101 }, (_, i) => run.verify(key, { tags: [String(i)] })));
      await collect(start, 101, { filter });
      const first = await data({ filter, cursor: start.cursor });
      expect(first.events).toHaveLength(100);
      const tags = first.events.map(({ tags }) => String(tags));
      let { cursor } = first;
      for (const want of [1, 0]) {
        const next = await data({ filter, cursor, limit: 1 });
        expect(next.events).toHaveLength(want);
        tags.push(...next.events.map(({ tags }) => String(tags)));
        cursor = next.cursor;
      }
      expect(new Set(tags).size).toBe(101);
      expect((await data({ filter, cursor: start.cursor, limit: 500 })).events).toHaveLength(101);
    });

    test("[management §8] waitMs is 0–20000 and limit 1–500, cursor a text, kind is required, unknown fields are refused", async () => {
      expect((await data({ limit: 1, waitMs: 0 })).events).toEqual([]);
      expect((await data({ limit: 500, waitMs: 1 })).events).toEqual([]);
      // The clients of the other edges cannot say these things, or not in this way.
      if (run.edge !== "v2") return;
      expect(await wrong({ waitMs: -1 })).toEqual(["body.waitMs"]);
      expect(await wrong({ waitMs: 20_001 })).toEqual(["body.waitMs"]);
      expect(await wrong({ limit: 0 })).toEqual(["body.limit"]);
      expect(await wrong({ limit: 501 })).toEqual(["body.limit"]);
      expect(await wrong({ kind: undefined })).toEqual(["body.kind"]);
      expect(await wrong({ kind: "keys" })).toEqual(["body.kind"]);
      expect(await wrong({ cursor: 5, waitMs: "1", limit: 1.5 })).toEqual(["body.cursor", "body.limit", "body.waitMs"]);
      expect(await wrong({ query: "SELECT 1" })).toEqual(["body.query"]);
      expect(await wrong({ filter: { region: ["local"] } })).toEqual(["body.filter.region"]);
    });

    test("[management §8] all filter names that the kind does not have are reported together", async () => {
      expect(await wrong({ filter: { identifier: ["x"], passed: [true] } })).toEqual(["body.filter.identifier", "body.filter.passed"]);
      expect(await wrong({ kind: "ratelimits", filter: { tag: [], outcome: [] } })).toEqual(["body.filter.outcome", "body.filter.tag"]);
    });

    test("[management §8] a cursor that is damaged, of another kind or of another filter is 400; an empty one is none", async () => {
      const filter = { keyId: ["a", "b"] };
      const { cursor } = await data({ filter });
      const middle = Math.floor(cursor.length / 2);
      const changed = cursor.slice(0, middle) + (cursor[middle] === "A" ? "B" : "A") + cursor.slice(middle + 1);
      for (const bad of ["x", "🔑", changed, cursor.slice(1), `${cursor}A`, `${cursor}=`, cursor.repeat(2)]) {
        expect(await wrong({ filter, cursor: bad })).toEqual(["body.cursor"]);
      }
      expect(await wrong({ cursor })).toEqual(["body.cursor"]);
      expect(await wrong({ cursor, filter: { keyId: ["a"] } })).toEqual(["body.cursor"]);
      expect(await wrong({ cursor, filter: { apiId: ["a", "b"] } })).toEqual(["body.cursor"]);
      expect(await wrong({ kind: "ratelimits", cursor })).toEqual(["body.cursor"]);
      expect((await data({ filter, cursor })).events).toEqual([]);
      expect((await data({ cursor: "" })).events).toEqual([]);
    });

    test("[management §6] tail shows a root key the events of its APIs only, whatever it filters by", async () => {
      const [mine, other] = [await run.createKey(), await run.createKey()];
      const rootKey = await run.api.createRootKey({ permissions: [`api.${mine.apiId}.read_analytics`] });
      const own = await data({}, rootKey);
      const foreign = await data({ filter: { apiId: [other.apiId] } }, rootKey);
      const everything = await data({ filter: { apiId: [mine.apiId, other.apiId] } });
      await Promise.all([run.verify(other.key), run.verify(mine.key), run.verify(other.key)]);
      const { events } = await collect(everything, 3, { filter: { apiId: [mine.apiId, other.apiId] } });
      expect(events).toHaveLength(3);
      expect((await data({ cursor: own.cursor }, rootKey)).events.map(({ key_id }) => key_id)).toEqual([mine.keyId]);
      expect((await data({ cursor: foreign.cursor, filter: { apiId: [other.apiId] } }, rootKey)).events).toEqual([]);
      const { detail } = expectError(await call({ kind: "ratelimits" }, rootKey), 403, forbidden);
      expect(detail).toContain("ratelimit.*.read_analytics");
    });

    test("[management §6] a tenth call of a root key may wait, an eleventh is 429; who does not wait is always let in", async () => {
      const rootKey = await run.api.createRootKey({ permissions: ["api.*.read_analytics"] });
      const filter = { keyId: [run.unique("nobody")] };
      const waiting = Array.from({ length: 11 }, () => call({ filter, waitMs: 3_000 }, rootKey));
      const statuses = (await Promise.all(waiting)).map(({ status }) => status).sort();
      expect(statuses).toEqual([...Array(10).fill(200), 429]);
      expect((await data({ filter, waitMs: 1 }, rootKey)).events).toEqual([]);
      const again = Array.from({ length: 10 }, () => call({ filter, waitMs: 4_000 }, rootKey));
      await expect.poll(async () => (await call({ filter, waitMs: 1 }, rootKey)).status).toBe(429);
      expect((await data({ filter }, rootKey)).events).toEqual([]);
      expect((await data({ filter, waitMs: 10 })).events).toEqual([]);
      const error = expectError(await call({ filter, waitMs: 1 }, rootKey), 429, "user/too_many_requests/tail_limit_exceeded");
      expect(error.detail).toContain("10");
      expect((await Promise.all(again)).map(({ status }) => status)).toEqual(Array(10).fill(200));
    });

    test("[management §6] tail costs nothing of the quota of queries", async () => {
      const left = async () => (await run.data("analytics.getQuota", {})).queriesLeft;
      const before = await left();
      await data({});
      expect(await left()).toBe(before);
    });
  },
  undefined,
  { env: { ...analytics.env, ANALYTICS_QUERIES_PER_HOUR: "1000000" } },
);

everywhere(
  (run) => {
    test("[management §6] without an analytics store tail is 412, after 403", async () => {
      const powerless = await run.api.createRootKey({ permissions: ["ratelimit.*.read_analytics"] });
      const asked = { kind: "verifications", cursor: "unknown" };
      expectError(await run.call("analytics.tail", asked, powerless), 403, forbidden);
      expectError(await run.call("analytics.tail", asked), 412, "unkey/data/analytics_not_configured");
    });
  },
  ["v2", "grpc"],
  { env: { ANALYTICS: "off" } },
);
