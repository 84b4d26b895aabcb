// @same-on-every-engine
import { connect as connectHttp2 } from "node:http2";
import { create, type DescMethodUnary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { procedureName } from "../../../src/platform/rpc/procedureName.ts";
import { services } from "../../../src/service/services.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { bodyOf, createObjects, type Objects } from "../../support/bodies.ts";
import { codePoint } from "../../support/codePoint.ts";
import { compileCodec } from "../../support/compileCodec.ts";
import { expectEnvelope, type HttpAnswer, type HttpRequest, request } from "../../support/envelope.ts";
import { sized } from "../../support/sized.ts";
import { engines } from "../../support/stores.ts";

/** How long each property runs; set it to search for longer. Otherwise a number of runs, the same on every machine. */
const milliseconds = Number(process.env.FUZZ_MS ?? 0);
const bounds = {
  ...(milliseconds > 0 ? { interruptAfterTimeLimit: milliseconds, numRuns: 1_000_000 } : { numRuns: sized(200, 2_000) }),
  endOnFailure: true,
};
/** A single run may be slow where the machine is. */
const timeout = milliseconds + 300_000;

const methods = services.flatMap((service) => service.methods as DescMethodUnary[]);

const ratelimits = [
  { name: "requests", limit: 10, duration: 60_000, autoApply: true },
  { name: "tokens", limit: 1_000, duration: 1_000 },
];
const credits = { remaining: 100, refill: { interval: "monthly", amount: 10, refillDay: 31 } };
const meta = { plan: "pro", nested: { list: [1, "two", null, { three: 3 }] } };

/** Requests with all their fields, for the procedures that have many. */
const richBodies: Readonly<Record<string, (objects: Objects) => object>> = {
  "keys.createKey": ({ apiId, role, permission }) => ({
    ...{
      apiId,
      prefix: "fuzz",
      byteLength: 16,
      name: "fuzzed",
      externalId: "user_1",
      meta,
      expires: 4_000_000_000_000,
      credits,
      ratelimits,
    },
    ...{ roles: [role], permissions: [permission, "fuzz.*"], enabled: true, recoverable: false },
  }),
  "keys.updateKey": ({ keyId, role, permission }) => ({
    ...{
      keyId,
      name: null,
      externalId: null,
      meta,
      expires: null,
      credits,
      ratelimits,
      enabled: true,
      roles: [role],
      permissions: [permission],
    },
  }),
  "keys.verifyKey": ({ key }) => ({
    ...{ key, tags: ["path=/v1"], permissions: "a AND (b OR c.*)", credits: { cost: 1 }, ratelimits: [{ name: "requests", cost: 2 }] },
  }),
  "keys.explain": ({ keyId }) => ({
    ...{ keyId, at: 1_900_000_000_000, permissions: "a AND (b OR c.*)", credits: { cost: 1 }, remoteIp: "192.0.2.1" },
    ...{ ratelimits: [{ name: "inline", limit: 5, duration: 1_000, cost: 2 }] },
  }),
  "identities.updateIdentity": ({ identity }) => ({ identity, meta, ratelimits }),
  "permissions.createRole": ({ permission }) => ({ name: crypto.randomUUID(), description: "fuzzed", permissions: [permission] }),
};

/** A placeholder for JSON text that JSON.stringify cannot write, or that is too long to be shown. */
const raw = (number: string): string => `@raw:${number}@`;
const deep = (levels: number): string => `@deep:${levels}@`;
const long = (character: string, count: number): string => `@long:${character}:${count}@`;
const nested = (levels: number): string => `${'{"a":['.repeat(levels)}${"]}".repeat(levels)}`;
const toText = (body: unknown, deepest = 200_000): string =>
  (JSON.stringify(body) ?? "")
    .replace(/"@raw:([^@"]*)@"/g, "$1")
    .replace(/"@deep:(\d+)@"/g, (_, levels: string) => nested(Math.min(Number(levels), deepest)))
    .replace(/@long:([^:]*):(\d+)@/g, (_, character: string, count: string) => character.repeat(Number(count)));

/** Values that a careless service mishandles, in any place. */
const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    "",
    " ",
    "\u0000",
    "\ud800",
    "a\udfff",
    "é\u0301",
    "$where",
    "__proto__",
    "../..",
    "%",
    "\n",
    [],
    {},
  ),
  fc.constantFrom(...["1e400", "-1e400", "9007199254740992", "1e308", "-0", "0.1", "123456789012345678901234567890", "1E5", "-1"].map(raw)),
  fc.string({ unit: codePoint }),
  fc
    .tuple(fc.constantFrom("x", "é", "😀", "\u0000"), fc.constantFrom(17, 129, 256, 257, 600, 70_000))
    .map(([character, count]) => long(character, count)),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.maxSafeInteger(),
  fc.constantFrom(60, 900, 3_000).map(deep),
  fc.jsonValue({ maxDepth: 5, stringUnit: codePoint }),
  fc.array(fc.constantFrom("x", 1, null, {}), { minLength: 100, maxLength: 1_100 }),
);

/** As `fc.webPath()`, without its table of all characters. */
const pathCharacter = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@") },
  { weight: 1, arbitrary: codePoint.map(encodeURIComponent) },
);
const webPath = fc.array(fc.string({ unit: pathCharacter })).map((segments) => segments.map((segment) => `/${segment}`).join(""));

const keyName = fc.oneof(
  fc.constantFrom("__proto__", "constructor", "id", "keyId", "meta", "$set", "a.b", "", "name"),
  fc.string({ unit: codePoint }),
);

/** Another value of the same kind, which may well be valid. */
const similar = (value: unknown, random: () => number): unknown => {
  if (typeof value === "number") return Math.round(value * random() * 2);
  if (typeof value === "string")
    return value.slice(0, 1 + Math.floor(random() * value.length)) + ["", "x", "é", "\u0000", " "][Math.floor(random() * 5)];
  return typeof value === "boolean" ? !value : value;
};

/** One change somewhere in a value: another value, one thing less, or one more. */
const mutate = (value: unknown, random: () => number, replacement: unknown, name: string): unknown => {
  if (random() < 0.03) return replacement;
  if (typeof value !== "object" || value === null) return random() < 0.5 ? replacement : similar(value, random);
  const entries = Object.entries(value);
  const at = Math.floor(random() * (entries.length + 0.3));
  const [key, inner] = entries[at] ?? [name, undefined];
  const next = at === entries.length ? replacement : random() < 0.1 ? undefined : mutate(inner, random, replacement, name);
  if (Array.isArray(value)) return at === entries.length ? [...value, next] : value.with(at, next);
  return Object.fromEntries([...entries.filter(([other]) => other !== key), [key, next]]);
};

/** Numbers from 0 up to 1, always the same for a seed. */
const randomFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
};

const mutation = fc.array(fc.tuple(fc.integer(), nasty, keyName), { minLength: 1, maxLength: 3 });
const procedure = fc.constantFrom(...methods);

describe.each(engines)("[protocol §2, §3] on $name", (engine) => {
  let api: Api;
  let objects: Objects;
  const post = (path: string, options: HttpRequest): Promise<HttpAnswer> => request(api.url, path, { rootKey: api.rootKey, ...options });
  const createAll = (): Promise<Objects> => createObjects(async (name, body) => dataOf(await post(name, { body })));

  beforeAll(async () => {
    api = await startApi(engine);
    objects = await createAll();
  });
  afterAll(async () => {
    const { apiId } = dataOf(await post("apis.createApi", { body: { name: "still there" } }));
    expect(dataOf(await post("apis.getApi", { body: { apiId } }))).toMatchObject({ name: "still there" });
    await api.close();
    await engine.close();
  });

  const expectAnswer = (answer: HttpAnswer): void => {
    expectEnvelope(answer);
    expect(answer.status).toBeLessThan(500);
  };

  /** Creates deleted objects again, or the rest of the run would find nothing. */
  const renew = async (name: string, status: number): Promise<void> => {
    if (status === 200 && /delete|reroll|update/i.test(name)) objects = await createAll();
  };

  const mutated = (name: string, mutations: readonly (readonly [number, unknown, string])[]): unknown => {
    const valid: unknown = (richBodies[name] ?? (() => bodyOf(name, objects)))(objects);
    return mutations.reduce<unknown>((body, [seed, replacement, key]) => mutate(body, randomFrom(seed), replacement, key), valid);
  };

  test(
    "any JSON is answered with an envelope and never a 5xx",
    async () => {
      const property = fc.asyncProperty(procedure, nasty, async (method, body) => {
        expectAnswer(await post(procedureName(method), { body: toText(body) }));
      });
      await fc.assert(property, bounds);
    },
    timeout,
  );

  test(
    "a valid request with something wrong in it is answered with an envelope and never a 5xx",
    async () => {
      const property = fc.asyncProperty(procedure, mutation, async (method, mutations) => {
        const name = procedureName(method);
        const body = toText(mutated(name, mutations));
        const answer = await post(name, { body });
        expectAnswer(answer);
        await renew(name, answer.status);
      });
      await fc.assert(property, bounds);
    },
    timeout,
  );

  test(
    "any bytes are answered with an envelope and never a 5xx",
    async () => {
      const text = fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.string({ unit: codePoint }),
        fc.constantFrom("[".repeat(1e6), '{"a":'.repeat(1e5)),
      );
      const type = fc.constantFrom(
        "application/json",
        "application/json",
        "application/json;x",
        "text/plain",
        undefined,
        "application/grpc",
        ";",
        "json",
      );
      const property = fc.asyncProperty(procedure, text, type, async (method, body, contentType) => {
        expectAnswer(await post(procedureName(method), { body, headers: { "content-type": contentType } }));
      });
      await fc.assert(property, bounds);
    },
    timeout,
  );

  test(
    "any path, method and header is answered with an envelope and never a 5xx",
    async () => {
      const path = fc.oneof(
        webPath,
        webPath.map((rest) => `/v2${rest}`),
        procedure.map((method) => `/v2/${procedureName(method)}`),
      );
      const method = fc.constantFrom("POST", "POST", "GET", "PUT", "DELETE", "PATCH", "OPTIONS");
      const value = fc.stringMatching(/^[\x21-\x7e\x80-\xff]{1,60}$/);
      const property = fc.asyncProperty(path, method, value, value, async (at, verb, token, other) => {
        const headers = { accept: other, "user-agent": other, "x-forwarded-for": other, "content-type": "application/json" };
        const options = { method: verb, headers, ...(verb === "GET" ? {} : { body: {} }) };
        const answer = await request(api.url, `/${at}`.replace(/^\/+/, "/"), { ...options, rootKey: token });
        expectAnswer(answer);
        expect([401, 404, 405]).toContain(answer.status);
      });
      await fc.assert(property, bounds);
    },
    timeout,
  );

  describe("[grpc §1, §3]", () => {
    /** The answer's code; anything else than a proper answer fails. */
    const callConnect = async (method: DescMethodUnary, body: Uint8Array, type: string): Promise<string> => {
      const response = await fetch(`${api.url}/${method.parent.typeName}/${method.name}`, {
        method: "POST",
        headers: { "content-type": type, authorization: `Bearer ${api.rootKey}` },
        body: new Uint8Array(body),
      });
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      if (response.ok) {
        await response.arrayBuffer();
        return "ok";
      }
      return ((await response.json()) as { code: string }).code;
    };

    const expectCode = (code: string): void => expect(code).not.toMatch(/^(internal|unknown|unavailable|data_loss|2|13|14|15)$/);

    /** The deepest message that the encoder of this test's own Protobuf library can write. */
    const deepestBinary = 400;

    /** A valid message, some of its bytes changed. */
    const damaged = (
      method: DescMethodUnary,
      mutations: Parameters<typeof mutated>[1],
      places: readonly (readonly [number, number])[],
    ): Uint8Array => {
      const name = procedureName(method);
      const json: unknown = JSON.parse(toText(mutated(name, mutations), deepestBinary) || "null");
      const bytes = toBinary(method.input, create(method.input, compileCodec(method.input).decode(json).message));
      for (const [place, byte] of places) if (bytes.length > 0) bytes[place % bytes.length] = byte;
      return bytes;
    };
    const places = fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { maxLength: 4 });

    test(
      "any message over Connect is answered, and with no internal error",
      async () => {
        const garbage = fc.uint8Array({ maxLength: 200 });
        const property = fc.asyncProperty(
          procedure,
          garbage,
          fc.constantFrom("application/proto", "application/json"),
          async (method, body, type) => {
            expectCode(await callConnect(method, body, type));
          },
        );
        await fc.assert(property, bounds);
      },
      timeout,
    );

    test(
      "a damaged valid message over Connect is answered, and with no internal error",
      async () => {
        const property = fc.asyncProperty(procedure, mutation, places, async (method, mutations, where) => {
          const code = await callConnect(method, damaged(method, mutations, where), "application/proto");
          expectCode(code);
          await renew(procedureName(method), code === "ok" ? 200 : 400);
        });
        await fc.assert(property, bounds);
      },
      timeout,
    );

    test(
      "any frames over gRPC are answered, and with no internal error, on one connection",
      async () => {
        const session = connectHttp2(api.url);
        const call = (method: DescMethodUnary, body: Uint8Array): Promise<string> =>
          new Promise((resolve, reject) => {
            const stream = session.request({
              ":method": "POST",
              ":path": `/${method.parent.typeName}/${method.name}`,
              "content-type": "application/grpc",
              te: "trailers",
              authorization: `Bearer ${api.rootKey}`,
            });
            stream.on("trailers", (trailers) => resolve(String(trailers["grpc-status"])));
            stream.on("error", reject).on("close", () => reject(new Error("closed without a status")));
            stream.resume();
            stream.end(body);
          });
        const framed = (bytes: Uint8Array): Uint8Array => {
          const head = Buffer.alloc(5);
          head.writeUInt32BE(bytes.length, 1);
          return Buffer.concat([head, bytes]);
        };
        const body = fc.oneof(fc.uint8Array({ maxLength: 50 }), fc.uint8Array({ maxLength: 100 }).map(framed), fc.constant(undefined));
        const property = fc.asyncProperty(procedure, body, mutation, places, async (method, bytes, mutations, where) => {
          const code = await call(method, bytes ?? framed(damaged(method, mutations, where)));
          expectCode(code);
          await renew(procedureName(method), code === "0" ? 200 : 400);
        });
        await fc.assert(property, bounds);
        session.close();
      },
      timeout,
    );
  });
});
