// @same-on-every-engine
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import type { CollectionName } from "../../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { createLog } from "../../../src/platform/telemetry/log.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { bodyOf, createObjects, type Objects } from "../../support/bodies.ts";
import { procedureNames } from "../../support/edges.ts";
import { request } from "../../support/envelope.ts";
import { sizedEdges } from "../../support/sized.ts";
import { engines } from "../../support/stores.ts";

const collections: Readonly<Record<CollectionName, true>> = {
  ...{ apis: true, keys: true, identities: true, permissions: true, roles: true, rootKeys: true, namespaces: true, overrides: true },
  ...{
    migrations: true,
    sessions: true,
    failedSignIns: true,
    counters: true,
    changes: true,
    idempotency: true,
    audit: true,
    leases: true,
    sweeps: true,
    nodes: true,
    system: true,
  },
  auditIndex: true,
};

/** Procedures whose answers hold a secret, this once or because it was asked for. */
const tellsSecret = new Set(["keys.createKey", "keys.rerollKey", "rootKeys.createKey", "rootKeys.rerollKey"]);

describe.each(engines)("[protocol §1, §5, §7] secrets on $name", (engine) => {
  let api: Api;
  let objects: Objects;
  let failing: Error | undefined;
  const secrets = new Set<string>();
  let log = "";
  /** Every answer that is not to hold a secret. */
  let answers = "";
  const encryptionKey = randomBytes(32).toString("base64");

  const remember = (data: unknown): void => {
    const { key } = (data ?? {}) as { key?: unknown };
    if (typeof key === "string") secrets.add(key);
  };
  const call = async (procedure: string, body: unknown, rootKey = api.rootKey): Promise<Record<string, unknown>> => {
    const answer = await request(api.url, procedure, { rootKey, body });
    remember(answer.body.data);
    if (!tellsSecret.has(procedure)) answers += answer.text;
    return dataOf(answer);
  };

  /** Texts that must not appear anywhere: the whole secret, its middle (starts and ends are shown), and other spellings of it. */
  const forbidden = (): string[] =>
    [...secrets].flatMap((secret) => [
      secret.slice(secret.lastIndexOf("_") + 6, -4),
      Buffer.from(secret).toString("base64").replaceAll("=", ""),
      Buffer.from(secret).toString("hex"),
    ]);
  const found = (text: string): string[] => forbidden().filter((part) => text.includes(part));

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), (operation) => {
      if (failing) throw failing;
      return operation();
    });
    const collect = {
      write: (line: string) => {
        log += line;
      },
    };
    const env = { LOG_LEVEL: "trace", ENCRYPTION_KEYS: `k1:${encryptionKey}` };
    api = await startApi(engine, { store, env, log: createLog("trace", collect) });
    secrets.add(api.rootKey).add(encryptionKey);
    objects = await createObjects((procedure, body) => call(procedure, body));
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  test("every procedure is driven with them, on every edge, with success and without", async () => {
    const powerless = await api.createRootKey({ permissions: [] });
    secrets.add(powerless);
    for (const edge of sizedEdges(api.edges)) {
      let own = await createObjects((name, body) => call(name, body));
      for (const procedure of procedureNames) {
        // Some calls delete what the next ones would name.
        if (edge.name === "v2") own = await createObjects((name, body) => call(name, body), [procedure, "keys.whoami"]);
        const rootKeys = [api.rootKey, own.key, `Basic ${api.rootKey}`, `${api.rootKey}x`, powerless];
        for (const rootKey of rootKeys) {
          // So that what is kept of answers is searched, too.
          const headers: Record<string, string> = edge.name === "v2" ? { "idempotency-key": crypto.randomUUID() } : {};
          const answer = await edge.call(procedure, bodyOf(procedure, own), rootKey, { headers });
          remember(answer.body.data);
          if (rootKey !== api.rootKey || !tellsSecret.has(procedure)) answers += JSON.stringify(answer.body);
        }
      }
    }
    expect(secrets.size).toBeGreaterThan(procedureNames.length);
  });

  test("recoverable keys are made, read and rerolled", async () => {
    const { keyId, key } = await call("keys.createKey", { apiId: objects.apiId, recoverable: true, prefix: "rec" });
    const read = await request(api.url, "keys.getKey", { rootKey: api.rootKey, body: { keyId, decrypt: true } });
    expect(dataOf(read).plaintext).toBe(key);
    await call("keys.getKey", { keyId });
    await call("keys.rerollKey", { keyId, expiration: 0 });
    await call("keys.verifyKey", { key });
  });

  test("malformed requests hold them in every place", async () => {
    const { key } = objects;
    const secret = api.rootKey;
    const bodies: readonly unknown[] = [
      `{"key":"${key}"`,
      `{"key":"${key}"}x`,
      `{"key":${key}}`,
      `${key}`,
      `"${key}"`,
      { key: [key] },
      { key, unknown: key },
      { key, credits: key, tags: key, ratelimits: [{ name: key.slice(0, 2) }], permissions: 5 },
      { key, keyId: { x: key } },
      { apiId: "x", authorization: secret },
      { query: key, cursor: key },
      { query: key, limit: key, apiId: `${key}-` },
    ];
    for (const body of bodies) {
      for (const procedure of ["keys.verifyKey", "keys.whoami", "keys.searchKeys", "keys.createKey"]) {
        const path = `/v2/${procedure}?key=${key}&authorization=${secret}`;
        const headers = {
          cookie: `key=${key}`,
          "x-api-key": secret,
          "content-type": procedure === "keys.whoami" ? "text/plain" : "application/json",
        };
        answers += (await request(api.url, path, { rootKey: secret, body, headers })).text;
        for (const type of ["application/json", "application/proto"]) {
          const rpc = await request(api.url, "/latchkey.v2.KeysService/VerifyKey", {
            rootKey: secret,
            body,
            headers: { "content-type": type },
          });
          answers += rpc.text;
        }
      }
    }
    answers += (await request(api.url, `/v2/${key}/${secret}`, { rootKey: key })).text;
    answers += (await request(api.url, "keys.verifyKey", { method: "GET", rootKey: secret })).text;
  });

  test("failures of the store and defects are logged, without them", async () => {
    const before = log.length;
    for (const error of [new TypeError("a defect"), new StoreUnavailableError("away")]) {
      failing = error;
      const bodies = {
        "keys.whoami": { key: objects.key },
        "keys.verifyKey": { key: `${objects.key}x` },
        "keys.createKey": { apiId: objects.apiId },
      };
      for (const [procedure, body] of Object.entries(bodies)) {
        const answer = await request(api.url, procedure, { rootKey: api.rootKey, body });
        expect(answer.status).toBe(error instanceof TypeError ? 500 : 503);
        expect(answer.text).not.toContain(error.message);
        answers += answer.text;
        expect(log.slice(before)).toContain(answer.body.meta.requestId);
      }
    }
    failing = undefined;
    await expect
      .poll(async () => (await request(api.url, "keys.whoami", { rootKey: api.rootKey, body: { key: objects.key } })).status)
      .toBe(200);
  });

  test("none of them is in a log line, an answer, a metric or a stored document", async () => {
    expect(log.split("\n").length).toBeGreaterThan(100);
    expect(found(log)).toEqual([]);
    expect(found(answers)).toEqual([]);
    expect(found(await (await fetch(`${api.adminUrl}/metrics`)).text())).toEqual([]);
    for (const name of Object.keys(collections) as CollectionName[]) {
      const documents = await api.store
        .collection(name as "apis")
        .find({})
        .toArray();
      expect([name, found(JSON.stringify(documents))]).toEqual([name, []]);
    }
    // The search itself would find one.
    expect(found([...secrets].join("\n"))).toHaveLength(secrets.size);
  });
});
