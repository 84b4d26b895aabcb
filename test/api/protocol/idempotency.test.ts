import { getOption } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { changes } from "../../../gen/latchkey/v2/options_pb.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { procedureName } from "../../../src/platform/rpc/procedureName.ts";
import { services } from "../../../src/service/services.ts";
import { type Api, dataOf, expectError } from "../../support/api.ts";
import { bodyOf, createObjects } from "../../support/bodies.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { createTestClock } from "../../support/testClock.ts";
import { everythingIn } from "../../support/written.ts";

/** Procedures that write an audit event. */
const changing = services.flatMap((service) => service.methods.filter((method) => getOption(method, changes)).map(procedureName));

interface Replayable extends Answer {
  readonly replayed: boolean;
}

const withKey = async (
  run: Run,
  key: string,
  procedure: string,
  body: unknown,
  { node = run.api, rootKey = run.api.rootKey }: { node?: Api; rootKey?: string } = {},
): Promise<Replayable> => {
  const edge = node.edges.find(({ name }) => name === run.edge) ?? expect.unreachable();
  let replayed = false;
  const onHeaders = (headers: Headers) => {
    replayed = headers.get("idempotency-replayed") === "true";
  };
  return { ...(await edge.call(procedure, body, rootKey, { headers: { "idempotency-key": key }, onHeaders })), replayed };
};

const expectKeyInUse = (answer: Answer): void => {
  const { errors } = expectError(answer, 400, "unkey/application/invalid_input");
  expect(errors).toEqual([expect.objectContaining({ location: "header.Idempotency-Key" })]);
};

/** Everything that was written, but for rows that go as soon as their events have moved. */
const written = async (run: Run): Promise<unknown> =>
  Object.entries(await everythingIn(run.api.store)).map(([name, items]) => [
    name,
    (items as readonly (string | { readonly erased?: boolean })[]).filter((item) => typeof item === "string" || !item.erased),
  ]);

everywhere((run) => {
  test("large metadata is compared and given back like any, the order of its properties is no difference", async () => {
    const { identity } = await createObjects(run.data, ["identities.updateIdentity"]);
    const names = Array.from({ length: 3_000 }, (_, i) => `property ${i}`);
    const body = (order: readonly string[], last = 1) => {
      const inner = Object.fromEntries(order.map((name) => [name, name === "property 7" ? last : [name, { deep: null }]]));
      return { identity, meta: { inner, list: order.length } };
    };
    const key = run.unique("key");
    const first = await withKey(run, key, "identities.updateIdentity", body(names));
    const data = dataOf(first);
    const repeat = await withKey(run, key, "identities.updateIdentity", body(names.toReversed()));
    expect([dataOf(repeat), repeat.replayed]).toEqual([data, true]);
    expectKeyInUse(await withKey(run, key, "identities.updateIdentity", body(names, 2)));
  });

  test.each(changing)("[protocol §2] a repeat of %s gets the same answer, marked, and does nothing again", async (procedure) => {
    const objects = await createObjects(run.data, [procedure]);
    const body = bodyOf(procedure, objects);
    const key = run.unique("key");
    const first = await withKey(run, key, procedure, body);
    const data = dataOf(first);
    const before = await written(run);
    const repeat = await withKey(run, key, procedure, body);
    expect(dataOf(repeat)).toEqual(data);
    expect([first.replayed, repeat.replayed]).toEqual([false, true]);
    expect(repeat.body.meta.requestId).not.toBe(first.body.meta.requestId);
    expect(await written(run)).toEqual(before);
  });

  test("[protocol §2] twenty calls at once on two nodes, and one more, make one key and give one answer", async () => {
    const apiId = await run.createApi();
    const body = { apiId, permissions: [run.unique("read")], externalId: run.unique("user") };
    const key = run.unique("key");
    const nodes = [run.api, await run.other()];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => withKey(run, key, "keys.createKey", body, { node: nodes[i % 2] ?? run.api })),
    );
    answers.push(await withKey(run, key, "keys.createKey", body));
    const first = dataOf(answers[0] ?? expect.unreachable());
    for (const answer of answers) expect(dataOf(answer)).toEqual(first);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await run.data("apis.listKeys", { apiId })).toHaveLength(1);
    expect(await run.verify(first.key as string)).toMatchObject({ valid: true });
  });

  test("[protocol §2] twenty deletions at once all succeed, and one of them deletes", async () => {
    const { keyId } = await run.createKey();
    const key = run.unique("key");
    const answers = await Promise.all(Array.from({ length: 20 }, () => withKey(run, key, "keys.deleteKey", { keyId, permanent: true })));
    for (const answer of answers) expect(dataOf(answer)).toEqual({});
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  });

  test("[protocol §2] the same key with another body or procedure is refused, of another root key it is another key", async () => {
    const key = run.unique("key");
    const first = dataOf(await withKey(run, key, "apis.createApi", { name: "one" }));
    expectKeyInUse(await withKey(run, key, "apis.createApi", { name: "two" }));
    expectKeyInUse(await withKey(run, key, "permissions.createRole", { name: run.unique("role") }));
    const rootKey = await run.api.createRootKey();
    const others = dataOf(await withKey(run, key, "apis.createApi", { name: "one" }, { rootKey }));
    expect(others).not.toEqual(first);
  });

  test("[protocol §2] after an error the key is free again, also for another body", async () => {
    const key = run.unique("key");
    const slug = run.unique("taken");
    await run.data("permissions.createPermission", { name: "Taken", slug });
    expectError(await withKey(run, key, "permissions.createPermission", { name: "Taken", slug }), 409, "permission_already_exists");
    const free = await withKey(run, key, "permissions.createPermission", { name: "Free", slug: run.unique("free") });
    expect(dataOf(free)).toEqual({ permissionId: expect.stringMatching(/^perm_/) });
    expect(free.replayed).toBe(false);
  });

  test("[protocol §2] a caller without the permission is refused first, before and after the call was made", async () => {
    const key = run.unique("key");
    const { keyId: rootKeyId, key: rootKey } = (await run.data("rootKeys.createKey", { permissions: ["api.*.create_api"] })) as {
      keyId: string;
      key: string;
    };
    dataOf(await withKey(run, key, "apis.createApi", { name: "mine" }, { rootKey }));
    expectError(
      await withKey(run, key, "permissions.createRole", { name: "role" }, { rootKey }),
      403,
      "unkey/authorization/insufficient_permissions",
    );
    await run.data("rootKeys.updateKey", { keyId: rootKeyId, permissions: ["api.*.read_api"] });
    expectError(
      await withKey(run, key, "apis.createApi", { name: "mine" }, { rootKey }),
      403,
      "unkey/authorization/insufficient_permissions",
    );
  });

  test("[protocol §2] a key is 1 to 255 printable ASCII characters", async () => {
    const long = run.unique("k".repeat(200)).padEnd(255, "~");
    dataOf(await withKey(run, long, "apis.createApi", { name: "long" }));
    // The others do not leave a client of gRPC.
    for (const bad of [`${long}x`, ...(run.edge === "v2" ? ["", "schlüssel"] : [])]) {
      expectKeyInUse(await withKey(run, bad, "apis.createApi", { name: "bad" }));
    }
  });

  test("[protocol §2] procedures that write no audit event ignore the header", async () => {
    const { key, keyId } = await run.createKey({ credits: { remaining: 2 } });
    const header = "x".repeat(300);
    for (const remaining of [1, 0]) {
      expect(dataOf(await withKey(run, header, "keys.verifyKey", { key }))).toMatchObject({ valid: true, credits: remaining });
    }
    expect((await withKey(run, header, "keys.getKey", { keyId })).replayed).toBe(false);
  });

  test("[protocol §2] the stored answer contains no secret", async () => {
    const apiId = await run.createApi();
    const secrets: string[] = [];
    for (const [procedure, body] of [
      ["keys.createKey", { apiId, prefix: "shown" }],
      ["rootKeys.createKey", { permissions: ["api.*.read_api"] }],
    ] as const) {
      const key = run.unique("key");
      const made = dataOf(await withKey(run, key, procedure, body)).key as string;
      expect(dataOf(await withKey(run, key, procedure, body)).key).toBe(made);
      secrets.push(made);
    }
    const kept = JSON.stringify(await run.api.store.collection("idempotency").find({}).toArray());
    expect(kept).toContain(apiId.slice(0, 4));
    for (const text of [...secrets, run.api.rootKey]) {
      expect(kept).not.toContain(text);
      expect(kept).not.toContain(text.split("_").at(-1));
    }
  });

  test("[protocol §2] an answer that version 0.11 kept is replayed with its secret", async () => {
    const body = { apiId: await run.createApi(), prefix: "older" };
    const key = run.unique("key");
    const made = dataOf(await withKey(run, key, "keys.createKey", body));
    const kept = run.api.store.collection("idempotency");
    const reservation = (await kept.find({}).toArray()).find(({ changeIn }) => changeIn?.id === made.keyId) ?? expect.unreachable();
    // With a recipe instead of the secret.
    const answer = JSON.stringify({ data: { ...made, key: { label: "", form: { byteLength: 16, prefix: "older" } } } });
    await kept.updateOne({ _id: reservation._id }, { $set: { answer } });
    const repeat = await withKey(run, key, "keys.createKey", body);
    expect([dataOf(repeat), repeat.replayed]).toEqual([made, true]);
  });

  test("[protocol §2] bodies are compared as decoded requests", async () => {
    const apiId = await run.createApi();
    const key = run.unique("key");
    const first = dataOf(await withKey(run, key, "keys.createKey", { apiId, meta: { a: 1, b: { c: 2, d: 3 } }, name: "n" }));
    const same = { name: "n", meta: { b: { d: 3, c: 2 }, a: 1 }, apiId };
    expect(dataOf(await withKey(run, key, "keys.createKey", same))).toEqual(first);
    expectKeyInUse(await withKey(run, key, "keys.createKey", { ...same, meta: { a: 1, b: { c: 2, d: 4 } } }));
    // On whichever edge.
    for (const edge of run.api.edges) {
      expect(dataOf(await edge.call("keys.createKey", same, run.api.rootKey, { headers: { "idempotency-key": key } }))).toEqual(first);
    }
  });
});

// Not behind the store, which removes what has expired by its own clock.
const clock = createTestClock(systemClock.now());
describe("with a clock that is turned", () => {
  everywhere(
    (run) => {
      test("[protocol §2] an answer is kept for 24 hours", async () => {
        const key = run.unique("key");
        const first = dataOf(await withKey(run, key, "apis.createApi", { name: "daily" }));
        clock.advance(24 * 3_600_000 - 1);
        expect(dataOf(await withKey(run, key, "apis.createApi", { name: "daily" }))).toEqual(first);
        clock.advance(1);
        const next = await withKey(run, key, "apis.createApi", { name: "daily" });
        expect(next.replayed).toBe(false);
        expect(dataOf(next)).not.toEqual(first);
      });
    },
    ["v2"],
    { clock },
  );
});
