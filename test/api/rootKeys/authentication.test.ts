import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { systemSource } from "../../../src/features/audit/auditEvent.ts";
import { createAuthenticator } from "../../../src/features/rootKeys/authenticator.ts";
import {
  createRootKey,
  type NewRootKey,
  type RootKeyUpdate,
  revokeRootKey,
  updateRootKey,
} from "../../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository, type RootKeysRepository } from "../../../src/features/rootKeys/rootKeysRepository.ts";
import { allows } from "../../../src/platform/authorization/authorization.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { createAnnouncementFeed } from "../../../src/platform/cache/announcementFeed.ts";
import { createInvalidations } from "../../../src/platform/cache/invalidations.ts";
import { createFairShares } from "../../../src/platform/fairness/fairShares.ts";
import { announceWrites } from "../../../src/platform/storage/decorators/announceWrites.ts";
import { createChangesRepository } from "../../../src/platform/storage/repositories/changesRepository.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { inContact } from "../../support/contact.ts";
import { type HttpAnswer, request } from "../../support/envelope.ts";
import { faultyStore } from "../../support/faultyStore.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock } from "../../support/testClock.ts";

const apiId = "api_nothing1";

describe.each(engines)("[protocol §7] on $name", (engine) => {
  let api: Api;
  const clock = createTestClock();
  const present = (authorization: string | undefined, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    request(api.url, "apis.getApi", { body: { apiId }, headers: { authorization, ...headers } });
  const call = (procedure: string, body: unknown, rootKey = api.rootKey): Promise<HttpAnswer> =>
    request(api.url, procedure, { rootKey, body });
  /** 404: the caller may ask, and there is no such API. */
  const expectAccepted = (answer: Answer): void => void expectError(answer, 404, "unkey/data/api_not_found");
  const expectRefused = (answer: Answer, reason: string): void => void expectError(answer, 401, `unkey/authentication/${reason}`);

  /** A root key, and functions that change it in the store without notifying the service. */
  const makeRootKey = async (options: NewRootKey = {}) => {
    const silent: RootKeysRepository = createRootKeysRepository(api.store);
    const { rootKeyId, key } = await createRootKey(silent, options, systemSource(clock));
    const update = (changes: RootKeyUpdate): Promise<void> => updateRootKey(silent, rootKeyId, changes, systemSource(clock));
    return { rootKeyId, key: key.reveal(), update };
  };

  beforeAll(async () => {
    api = await startApi(engine, { clock });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  test("the scheme's letter case and blanks around header and token make no difference", async () => {
    for (const authorization of ["Bearer KEY", "bearer KEY", "BEARER KEY", "bEaReR KEY", "Bearer    KEY", "  Bearer KEY  "]) {
      expectAccepted(await present(authorization.replace("KEY", api.rootKey)));
    }
  });

  test("no header, an empty one and one of blanks are missing", async () => {
    for (const authorization of [undefined, "", "   "]) expectRefused(await present(authorization), "missing");
  });

  test.each([
    "Bearer",
    "Bearer ",
    "Basic KEY",
    "BearerKEY",
    "KEY",
    "Bearer:KEY",
    "Token KEY",
    "Bear KEY",
    "Basic Bearer KEY",
    "Bearer,KEY",
  ])("%j is malformed", async (authorization) => {
    expectRefused(await present(authorization.replace("KEY", api.rootKey)), "malformed");
  });

  test("there is no other carrier than the header", async () => {
    const carriers = {
      cookie: `Authorization=Bearer ${api.rootKey}`,
      "x-api-key": api.rootKey,
      "proxy-authorization": `Bearer ${api.rootKey}`,
    };
    expectRefused(await present(undefined, carriers), "missing");
    const query = `/v2/apis.getApi?authorization=Bearer%20${api.rootKey}&access_token=${api.rootKey}&key=${api.rootKey}`;
    expectRefused(await request(api.url, query, { body: { apiId } }), "missing");
    const body = { apiId, authorization: `Bearer ${api.rootKey}`, rootKey: api.rootKey };
    expectRefused(await request(api.url, "apis.getApi", { body }), "missing");
  });

  test("a text that never was a root key, or only resembles one, is unknown", async () => {
    const { key } = await makeRootKey();
    const last = key.at(-1) === "0" ? "1" : "0";
    const variants = [
      `${key}x`,
      key.slice(0, -1),
      key.slice(0, -1) + last,
      key.toUpperCase(),
      key.slice(4),
      `x${key}`,
      `${key} ${key}`,
      "lkr_",
      "lkr_x",
      "x",
      "é",
      "null",
      `lkr_${"0".repeat(38)}`,
      "x".repeat(8_000),
    ];
    for (const variant of variants) expectRefused(await present(`Bearer ${variant}`), "key_not_found");
    expectAccepted(await present(`Bearer ${key}`));
  });

  test("an ordinary API key is unknown, whatever its permissions and form", async () => {
    const { apiId: own } = dataOf(await call("apis.createApi", { name: "ordinary" }));
    for (const prefix of ["lkr", "rk", undefined]) {
      const permissions = ["api.*.read_api", "api.*.create_api", "*"];
      const { key } = dataOf(await call("keys.createKey", { apiId: own, permissions, ...(prefix && { prefix }), byteLength: 28 }));
      expectRefused(await present(`Bearer ${key}`), "key_not_found");
    }
  });

  test("a root key is no API key: verifyKey, whoami, getKey and updateKey do not find it", async () => {
    const { rootKeyId, key } = await makeRootKey();
    expect(dataOf(await call("keys.verifyKey", { key }))).toEqual({ valid: false, code: "NOT_FOUND" });
    expectError(await call("keys.whoami", { key }), 404, "unkey/data/key_not_found");
    for (const procedure of ["keys.getKey", "keys.updateKey", "keys.deleteKey"]) {
      expectError(await call(procedure, { keyId: rootKeyId }), 404, "unkey/data/key_not_found");
    }
    expectAccepted(await present(`Bearer ${key}`));
  });

  test("expiry is judged on each request: after the moment, not at it", async () => {
    const { key } = await makeRootKey({ expires: clock.now() + 1_000 });
    expectAccepted(await present(`Bearer ${key}`));
    clock.advance(1_000);
    expectAccepted(await present(`Bearer ${key}`));
    clock.advance(1);
    expectRefused(await present(`Bearer ${key}`), "key_expired");
    for (const edge of api.edges) expectRefused(await edge.call("apis.getApi", { apiId }, key), "key_expired");
  });

  test("a revoked, expired, re-scoped or deleted one stops working within 30 s, even if no node is notified", async () => {
    const changes: readonly (readonly [RootKeyUpdate, (answer: Answer) => void])[] = [
      [{ enabled: false }, (answer) => expectRefused(answer, "key_disabled")],
      [{ expires: clock.now() - 1 }, (answer) => expectRefused(answer, "key_expired")],
      [{ permissions: ["api.*.create_api"] }, (answer) => expectError(answer, 403, "unkey/authorization/insufficient_permissions")],
    ];
    for (const [change, expectEffect] of changes) {
      const { key, update } = await makeRootKey();
      expectAccepted(await present(`Bearer ${key}`));
      await update(change);
      clock.advance(30_000);
      expectEffect(await present(`Bearer ${key}`));
      await update({ enabled: true, expires: null, permissions: null });
      clock.advance(30_000);
      expectAccepted(await present(`Bearer ${key}`));
    }
    const { rootKeyId, key } = await makeRootKey();
    expectAccepted(await present(`Bearer ${key}`));
    await api.store.collection("rootKeys").updateOne({ _id: rootKeyId }, { $set: { deletedAt: clock.now() } });
    clock.advance(30_000);
    expectRefused(await present(`Bearer ${key}`), "key_not_found");
  });

  test("one made without a list holds every permission, one with an empty list none", async () => {
    const everything = await makeRootKey();
    dataOf(await call("apis.createApi", { name: "allowed" }, everything.key));
    const nothing = await makeRootKey({ permissions: [] });
    expectError(await call("apis.createApi", { name: "denied" }, nothing.key), 403, "unkey/authorization/insufficient_permissions");
  });

  test("on the node that changes one, the next call sees it, on every edge", async () => {
    const { keyId, key } = dataOf(await call("rootKeys.createKey", { name: "changed here", permissions: ["api.*.read_api"] })) as {
      keyId: string;
      key: string;
    };
    const read = async (expectEffect: (answer: Answer) => void): Promise<void> => {
      for (const edge of api.edges) expectEffect(await edge.call("apis.getApi", { apiId }, key));
    };
    await read(expectAccepted);
    dataOf(await call("rootKeys.updateKey", { keyId, permissions: ["api.*.create_api"] }));
    await read((answer) => expectError(answer, 403, "unkey/authorization/insufficient_permissions"));
    dataOf(await call("rootKeys.updateKey", { keyId, permissions: ["api.*.read_api"], enabled: false }));
    await read((answer) => expectRefused(answer, "key_disabled"));
    dataOf(await call("rootKeys.updateKey", { keyId, enabled: true }));
    await read(expectAccepted);
    dataOf(await call("rootKeys.rerollKey", { keyId, expiration: 0 }));
    await read((answer) => expectRefused(answer, "key_expired"));
    dataOf(await call("rootKeys.deleteKey", { keyId }));
    await read((answer) => expectRefused(answer, "key_not_found"));
  });

  test("the caller's name is the one it has now, in audit events", async () => {
    const { rootKeyId, key } = await makeRootKey({ name: "deployer" });
    const { apiId: made } = dataOf(await call("apis.createApi", { name: "audited" }, key));
    const document = await api.store.collection("apis").findOne({ _id: made as string });
    const moved = await api.store.collection("audit").find({}).toArray();
    const event = [...(document?.outbox ?? []), ...moved.map((entry) => entry.event)].find(({ resources }) => resources[0]?.id === made);
    expect(event?.actor).toEqual({ type: "rootkey", id: rootKeyId, name: "deployer" });
  });
});

describe.each(engines)("[protocol §7] the authenticator on $name", (engine) => {
  afterAll(() => engine.close());
  const feeds: { stop: () => Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(feeds.splice(0).map((feed) => feed.stop()));
  });

  test("on the node where a root key is changed, the next call sees it", async () => {
    const store = await engine.open();
    const clock = createTestClock();
    const invalidations = createInvalidations(clock);
    const feed = createAnnouncementFeed({ clock, invalidations, changes: createChangesRepository(store), durable: true });
    feeds.push(feed);
    const rootKeys = createRootKeysRepository(announceWrites(store, feed, clock));
    const { authenticate } = createAuthenticator({
      clock,
      invalidations,
      contact: inContact(),
      rootKeys,
      maxBytes: 1_000_000,
      roomForRead: () => createFairShares({ capacity: 1 }).take(["anybody"], 1),
      unknownRest: 0,
      refusalRest: 0,
    });

    const source = systemSource(clock);
    const { rootKeyId, key } = await createRootKey(rootKeys, { permissions: ["api.*.read_api"] }, source);
    const authorization = `Bearer ${key.reveal()}`;
    const ask = async () => authenticate(authorization, clock.now(), {});
    expect(allows(await ask(), "api.read_api", "api_1")).toBe(true);
    expect(authenticate(authorization, clock.now(), {})).not.toBeInstanceOf(Promise);

    await updateRootKey(rootKeys, rootKeyId, { permissions: ["api.*.create_api"] }, source);
    expect(allows(await ask(), "api.read_api", "api_1")).toBe(false);
    await revokeRootKey(rootKeys, rootKeyId, source);
    await expect(ask()).rejects.toMatchObject({ reason: "authentication_key_disabled" });
    await updateRootKey(rootKeys, rootKeyId, { enabled: true, name: "again", permissions: null }, source);
    expect(await ask()).toMatchObject({ name: "again", grants: { unrestricted: true } });
    await updateRootKey(rootKeys, rootKeyId, { expires: clock.now() - 1 }, source);
    await expect(ask()).rejects.toMatchObject({ reason: "authentication_key_expired" });
  });

  test("while the store is down an unknown key is 503 and not 401; known root keys keep working", async () => {
    const store = faultyStore(await engine.open());
    const api = await startApi(engine, { store });
    try {
      const known = await api.createRootKey();
      const unknown = await api.createRootKey();
      const get = (rootKey: string) => request(api.url, "keys.verifyKey", { rootKey, body: { key: 5 } });
      expect((await get(known)).status).toBe(400);
      store.behave("fails");
      for (let i = 0; i < 3; i++) {
        expectError(await get(unknown), 503, "unkey/application/service_unavailable");
        expectError(await get(known), 400, "unkey/application/invalid_input");
      }
      store.behave("well");
    } finally {
      store.behave("well");
      await api.close();
    }
  });

  test("a node applies another node's change to a root key", async () => {
    const store = await engine.open();
    const api = await startApi(engine, { store });
    const feed = createAnnouncementFeed({
      clock: systemClock,
      invalidations: createInvalidations(systemClock),
      changes: createChangesRepository(store),
      durable: true,
    });
    try {
      const elsewhere = createRootKeysRepository(announceWrites(await engine.openBeside(store), feed, systemClock));
      const { rootKeyId, key } = await createRootKey(elsewhere, {}, systemSource(systemClock));
      const get = () => request(api.url, "apis.getApi", { rootKey: key.reveal(), body: { apiId } });
      expect((await get()).status).toBe(404);
      await revokeRootKey(elsewhere, rootKeyId, systemSource(systemClock));
      await expect.poll(async () => (await get()).status, { timeout: 30_000 }).toBe(401);
    } finally {
      await feed.stop();
      await api.close();
    }
  });
});
