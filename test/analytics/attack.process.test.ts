// @same-on-every-engine
import { existsSync, readdirSync } from "node:fs";
import pMap from "p-map";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Api, startApi } from "../support/api.ts";
import { type HttpAnswer, request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { type Attack, attacks, type Outcome } from "./attacks.ts";
import { embedded, type Place, seed, ways } from "./places.ts";

const types: Readonly<Record<Exclude<Outcome, object>, readonly string[]>> = {
  query: ["user/bad_request/invalid_analytics_query"],
  type: ["user/bad_request/invalid_analytics_query_type"],
  table: ["user/bad_request/invalid_analytics_table"],
  function: ["user/bad_request/invalid_analytics_function"],
  retention: ["user/bad_request/query_range_exceeds_retention"],
  exhausted: ["execution_timeout", "memory_limit_exceeded", "rows_limit_exceeded"].map((name) => `user/unprocessable_entity/query_${name}`),
};

const [engine] = engines;

describe.each(ways)("[analytics §2] on $name", (way) => {
  let place: Place;
  let api: Api;
  let scoped: string;
  beforeAll(async () => {
    if (!engine) expect.unreachable();
    place = await way.open();
    await seed(place, {
      verifications: [
        ...[1, 2].map(() => ({ apiId: "api_own", keyId: "key_own", tags: ["own"] })),
        ...[1, 2, 3].map(() => ({ apiId: "api_other", keyId: "key_other", externalId: "theirs", tags: ["theirs"] })),
      ],
      ratelimits: [{ identifier: "theirs" }],
    });
    api = await startApi(engine, { env: { ...place.env, ANALYTICS_QUERY_SECONDS: "1" } });
    scoped = await api.createRootKey({ permissions: ["api.api_own.read_analytics", "ratelimit.rlns_own.read_analytics"] });
  });
  afterAll(async () => {
    await api.close();
    await engine?.close();
    await place.close();
  });

  const ask = async (sql: string, outcomes: Attack["outcomes"]): Promise<HttpAnswer> => {
    const sent = () => request(api.url, "analytics.getVerifications", { rootKey: scoped, body: { query: sql } });
    const answer = await sent();
    // Where a machine has much else to do, a second is over before a harmless query is: that says nothing about the query.
    const wasBusy = answer.body.error?.type.endsWith("/query_execution_timeout") && !outcomes.includes("exhausted");
    return wasBusy
      ? vi.waitUntil(async () => sent().then((next) => (next.status === 422 ? undefined : next)), { timeout: 50_000 })
      : answer;
  };

  test("there are at least 150 attacks", () => {
    expect(Object.values(attacks).flat().length).toBeGreaterThanOrEqual(150);
  });

  // The parser gives the same result on both connections, so the remote one runs only a part.
  const listed = Object.entries(attacks).filter(
    ([name]) => way === embedded || name === "rows outside the scope" || name === "nested SETTINGS",
  );
  describe.each(listed)("%s", (_, list) => {
    test("end as the contract says, and show nothing of others", async () => {
      const wrong: unknown[] = [];
      const check = async ({ sql, outcomes }: Attack): Promise<void> => {
        const { status, body, text } = await ask(sql, outcomes);
        const isRows = outcomes.some(
          (outcome) => typeof outcome === "object" && JSON.stringify(outcome.rows) === JSON.stringify(body.data),
        );
        const allowed = outcomes.flatMap((outcome) => (typeof outcome === "string" ? types[outcome] : []));
        const isError = allowed.includes(body.error?.type.split("/errors/")[1] ?? "");
        const showsOthers = body.data !== undefined && /theirs|key_other/.test(text);
        const showsInternals = /additional_table_filters|latchkey\.|latchkey_internal|__table/.test(
          (body.error?.detail ?? "").replace(sql, ""),
        );
        if (!(isRows || isError) || showsOthers || (showsInternals && !sql.includes("latchkey"))) {
          wrong.push({ sql: sql.slice(0, 300), status, answer: text.slice(0, 600), outcomes });
        }
      };
      await pMap(list, check, { concurrency: 8 });
      expect(wrong).toEqual([]);
    });
  });

  test("nothing was written anywhere, and everything still answers", async () => {
    expect(readdirSync(".").filter((name) => /stolen/.test(name))).toEqual([]);
    expect(existsSync("x")).toBe(false);
    const { body } = await request(api.url, "analytics.getVerifications", {
      rootKey: api.rootKey,
      body: { query: "SELECT count() AS n FROM key_verifications_v1" },
    });
    expect(body.data).toEqual([{ n: 5 }]);
  });
});
