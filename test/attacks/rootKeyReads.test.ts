// @same-on-every-engine
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { systemSource } from "../../src/features/audit/auditEvent.ts";
import { createAuthenticator } from "../../src/features/rootKeys/authenticator.ts";
import { createRootKey } from "../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../../src/features/rootKeys/rootKeysRepository.ts";
import type { Behalf } from "../../src/platform/base/behalf.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { ServiceError } from "../../src/platform/base/errors.ts";
import { createInvalidations } from "../../src/platform/cache/invalidations.ts";
import { createFairShares } from "../../src/platform/fairness/fairShares.ts";
import { hashKey } from "../../src/platform/secrets/keySecret.ts";
import { createRootKeySecret } from "../../src/platform/secrets/rootKeySecret.ts";
import { guardStore } from "../../src/platform/storage/decorators/guardStore.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import { StoreOverloadedError } from "../../src/platform/storage/port/errors.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { inContact } from "../support/contact.ts";
import { type HttpAnswer, request } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import { engines } from "../support/stores.ts";

const FLOOD = 100;
/** Reads of all callers at the same time, plus the same number for callers that come later. */
const MOST_READS = 32;

describe.each(engines)("unknown root keys on $name", (engine) => {
  let api: Api;
  let reads = 0;
  /** Reads of root keys wait for it. */
  let gate: Promise<void> | undefined;
  let fail = false;
  let own: string | undefined;

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), async (operation, { collection, name, filter }) => {
      if (fail && name.startsWith("find")) throw new StoreOverloadedError("the pool is full");
      // The one of the tests is looked at again where the machine keeps the feed of changes silent for a second.
      if (collection === "rootKeys" && name === "findOne" && !isDeepStrictEqual(filter, { hash: own })) {
        reads++;
        await gate;
      }
      return operation();
    });
    api = await startApi(engine, { store, env: { TRUSTED_PROXIES: "127.0.0.1" } });
    own = hashKey(api.rootKey);
    await call(api.rootKey);
    reads = 0;
  });
  afterEach(() => {
    gate = undefined;
    fail = false;
    reads = 0;
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const unknown = (): string => createRootKeySecret().key.reveal();
  const call = (rootKey: string, address = "192.0.2.1"): Promise<HttpAnswer> =>
    request(api.url, "apis.getApi", {
      rootKey,
      body: { apiId: "api_none" },
      headers: { "content-type": "application/json", "x-forwarded-for": address },
    });
  const flood = (address: string): Promise<HttpAnswer>[] => Array.from({ length: FLOOD }, () => call(unknown(), address));
  const statuses = (answers: readonly HttpAnswer[]): Record<number, number> =>
    Object.fromEntries(Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, all]) => [status, all?.length ?? 0]));

  test("cost no more reads at a time than the budget has, and 503 beyond it; who comes from elsewhere is served, and known root keys all the time", async () => {
    const made = await api.createRootKey();
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const calls = flood("192.0.2.1");
    let answered = 0;
    for (const each of calls) void each.then(() => answered++);
    const flooded = Promise.all(calls);
    // All have come: who comes when places are free again is read for.
    await vi.waitFor(() => expect([reads, answered]).toEqual([MOST_READS, FLOOD - MOST_READS]), { timeout: 60_000 });
    // At the same time, since each refusal rests, and the reads that wait are given up after 3 s.
    const headers = { "x-forwarded-for": "192.0.2.1" };
    await Promise.all(
      api.edges.map(async (edge) => {
        const [refused, served] = await Promise.all(
          [unknown(), api.rootKey].map((rootKey) => edge.call("apis.getApi", { apiId: "api_none" }, rootKey, { headers })),
        );
        if (!refused || !served) expect.unreachable("there is no answer");
        expectError(refused, 503, "service_unavailable");
        expectError(served, 404, "api_not_found");
      }),
    );
    const elsewhere = call(made, "198.51.100.1");
    await eventually(() => expect(reads).toBe(MOST_READS + 1));
    resolve();
    expect((await elsewhere).status).toBe(404);
    expect(statuses(await flooded)).toEqual({ 401: MOST_READS, 503: FLOOD - MOST_READS });
  });

  test("one that was just made works at once on this node, while others are guessed", async () => {
    const guesses = Promise.all(flood("192.0.2.9"));
    const body = { name: "new", permissions: ["api.*.create_api"] };
    const { key } = dataOf(await request(api.url, "rootKeys.createKey", { rootKey: api.rootKey, body }));
    expect((await call(String(key), "198.51.100.2")).status).toBe(403);
    await guesses;
  });

  test("a full connection pool is 503, and does not make the store unavailable", async () => {
    fail = true;
    expectError(await call(unknown(), "203.0.113.1"), 503, "unkey/application/service_unavailable");
    expect(await (await fetch(`${api.adminUrl}/metrics`)).text()).toMatch(/^latchkey_store_up\S* 1$/m);
    fail = false;
    expect((await call(unknown(), "203.0.113.1")).status).toBe(401);
  });
});

describe.each(engines)("an authenticator on $name", (engine) => {
  afterAll(() => engine.close());

  const open = async (rests: { readonly unknownRest: number; readonly refusalRest: number }) => {
    const store = await engine.open();
    const clock = systemClock;
    const rootKeys = createRootKeysRepository(store);
    const reads = createFairShares({ capacity: 4 });
    const invalidations = createInvalidations(clock);
    const { authenticate } = createAuthenticator<Behalf & { readonly address: string }>({
      clock,
      invalidations,
      contact: inContact(),
      rootKeys,
      maxBytes: 1_000_000,
      roomForRead: ({ address }) => reads.take([address], 1),
      ...rests,
    });
    const ask = async (rootKey: string, address: string): Promise<string> => {
      try {
        return (await authenticate(`Bearer ${rootKey}`, clock.now(), { address })).rootKeyId;
      } catch (error) {
        return (error as ServiceError).reason;
      }
    };
    const guess = (address: string): Promise<string> => ask(createRootKeySecret().key.reveal(), address);
    const make = () => createRootKey(rootKeys, {}, systemSource(clock));
    return { reads, ask, guess, make, invalidations };
  };

  test("keeps the place of the read for a guessed root key for a while, that for a found one not", async () => {
    const { reads, ask, guess, make } = await open({ unknownRest: 1_000_000, refusalRest: 0 });
    for (let i = 0; i < 9; i++) {
      const { key, rootKeyId } = await make();
      expect(await ask(key.reveal(), "192.0.2.1")).toBe(rootKeyId);
    }
    expect(reads.taken()).toBe(0);
    const answers = [];
    for (let i = 0; i < 9; i++) answers.push(await guess("192.0.2.1"));
    expect(answers).toEqual([
      ...Array.from({ length: 4 }, () => "authentication_key_not_found"),
      ...Array.from({ length: 5 }, () => "service_unavailable"),
    ]);
    expect(await guess("192.0.2.2")).toBe("authentication_key_not_found");
  });

  test("a known root key never waits for room, even while another node changes it and much else", async () => {
    const { ask, make, invalidations } = await open({ unknownRest: 0, refusalRest: 0 });
    const { key, rootKeyId } = await make();
    const all = new Set([await ask(key.reveal(), "192.0.2.1")]);
    for (let round = 0; round < 3; round++) {
      invalidations.hear([rootKeyId]);
      const calls = Array.from({ length: 40 }, (_, i) => {
        invalidations.hear([`key_${round}_${i}`]);
        return ask(key.reveal(), "192.0.2.1");
      });
      for (const answer of await Promise.all(calls)) all.add(answer);
    }
    expect([...all]).toEqual([rootKeyId]);
  });

  test("callers without room wait and try again later, and delay no other caller", async () => {
    const { ask, guess, make } = await open({ unknownRest: 1_000_000, refusalRest: 1_000_000 });
    for (let i = 0; i < 4; i++) expect(await guess("192.0.2.1")).toBe("authentication_key_not_found");
    let refused = 0;
    for (let i = 0; i < 9; i++) void guess("192.0.2.1").then(() => refused++);
    const { key, rootKeyId } = await make();
    expect(await ask(key.reveal(), "192.0.2.2")).toBe(rootKeyId);
    expect(refused).toBe(0);
  });
});

const server = process.env.MONGODB_URL;

test.skipIf(server === undefined)("a full connection pool refuses what comes then, and answers pings", async () => {
  const url = freshMongoUrl(server ?? "");
  const states: string[] = [];
  const engine = openMongoStore({ url: `${url}?maxPoolSize=3` });
  const store = guardStore(engine, { clock: systemClock, placeTimeout: 100, onStateChange: (state) => states.push(state) });
  try {
    await store.prepare();
    const operations = Array.from({ length: 20_000 }, () => store.collection("keys").findOne({ _id: "key_none" }));
    const settled = Promise.allSettled(operations);
    await store.ping();
    const failures = (await settled).flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toBeInstanceOf(StoreOverloadedError);
    expect(states).toEqual([]);
  } finally {
    await store.close();
    await dropMongoDatabase(url);
  }
});
