import { afterAll, beforeAll, describe, expect } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";
import { type Place, seed, ways } from "./places.ts";

const [engine] = engines;
export const MINUTE: number = 60_000;
export const HOUR: number = 60 * MINUTE;
export const DAY: number = 24 * HOUR;
/** Noon, so that a few hours before lie in the same day. */
export const today: number = Math.floor(Date.now() / DAY) * DAY - DAY + 12 * HOUR;
export const odd = "it's \\ \"odd\"\n\u0000 é😀 `x` ') OR 1=1 --";

const verifications = [
  {
    time: today,
    apiId: "api_a",
    keyId: "key_1",
    tags: ["x", "y", "x"],
    spentCredits: 2,
    latency: 1,
    identityId: "id_1",
    externalId: "alice",
  },
  { time: today + 1, apiId: "api_a", keyId: "key_1", tags: ["x"], spentCredits: 3, latency: 2, identityId: "id_1", externalId: "alice" },
  { time: today + MINUTE, apiId: "api_a", keyId: "key_2", outcome: "RATE_LIMITED", latency: 3 },
  { time: today + 2 * HOUR, apiId: "api_b", keyId: "key_3", outcome: "DISABLED", latency: 4 },
  { time: today + 2 * HOUR + MINUTE - 1, apiId: "api_b", keyId: odd, tags: [odd], latency: 5 },
  { time: today - 31 * DAY, apiId: "api_a", keyId: "key_old" },
];
/** More groups than a request may ask for. */
const many = Array.from({ length: 1_100 }, (_, i) => ({
  time: today - DAY + (i < 1_000 ? 1 : 0),
  namespaceId: "rlns_m",
  identifier: `u${i}`,
}));
const ratelimits = [
  ...many,
  { time: today, namespaceId: "rlns_a", identifier: odd, passed: true, tokens: 2 },
  { time: today, namespaceId: "rlns_a", identifier: odd, passed: false, tokens: 5 },
  { time: today + HOUR, namespaceId: "rlns_b", identifier: "user 2", passed: true, tokens: 0 },
];
export const range: { readonly start: number; readonly end: number } = { start: today, end: today + 3 * HOUR };

type Row = Record<string, unknown>;

/** The tools of tests of getUsage. They exist while tests run, not while they are defined. */
export interface UsageRun {
  readonly api: () => Api;
  readonly ask: (body: object, rootKey?: string) => Promise<Answer>;
  readonly rows: (body: object, rootKey?: string) => Promise<Row[]>;
  /** The rows of rate limits. */
  readonly limits: (body: object, rootKey?: string) => Promise<Row[]>;
  /** Counts by the values of `groupBy`. */
  readonly counts: (body: object, rootKey?: string) => Promise<Row>;
  /** Places of what is wrong with a request. */
  readonly wrong: (body: object) => Promise<string[]>;
}

/** Time of all calls. */
export const now: number = today + DAY;

/** Defines tests of getUsage over known events, in every way of keeping them. */
export const onUsage = (define: (run: UsageRun) => void): void => {
  describe.each(ways)("on $name", (way) => {
    let place: Place;
    let api: Api;
    const clock = createTestClock(now);
    beforeAll(async () => {
      if (!engine) expect.unreachable();
      place = await way.open();
      await seed(place, { verifications, ratelimits });
      api = await startApi(engine, { env: { ...place.env, ANALYTICS_QUERIES_PER_HOUR: "3" }, clock });
    });
    afterAll(async () => {
      await api.close();
      await engine?.close();
      await place.close();
    });

    const ask: UsageRun["ask"] = (body, rootKey = api.rootKey) =>
      request(api.url, "analytics.getUsage", { rootKey, body: { kind: "verifications", granularity: "total", ...range, ...body } });
    const rows: UsageRun["rows"] = async (body, rootKey) => dataOf(await ask(body, rootKey)) as unknown as Row[];
    const limits: UsageRun["limits"] = (body, rootKey) => rows({ kind: "ratelimits", ...body }, rootKey);
    const counts: UsageRun["counts"] = async (body, rootKey) => {
      const { groupBy } = body as { groupBy: string[] };
      const found = await rows(body, rootKey);
      return Object.fromEntries(found.map((row) => [groupBy.map((name) => row[name]).join("|"), row.count]));
    };
    const wrong: UsageRun["wrong"] = async (body) =>
      (expectError(await ask(body), 400, "application/invalid_input").errors ?? []).map(({ location }) => location);

    define({ api: () => api, ask, rows, limits, counts, wrong });
  });
};
