import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { runLatchkey, type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { withStoreOf } from "../../bench/harness/placed.ts";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { SCHEMA_VERSION } from "../../src/platform/storage/port/baseDocument.ts";
import { dataOf } from "../support/api.ts";
import { type EarlierVersion, previousVersion, versionOfOlderSchema } from "../support/earlierVersions.ts";
import { type Place, places } from "../support/places.ts";

/** The contract's bound for seeing a change of another node. */
const BOUND_MS = 30_000;
const MONTH = 2_592_000_000;
const LOOPS = 2;

type Data = Record<string, unknown>;
type Call = (procedure: string, body: unknown) => Promise<Data>;
type Env = Readonly<Record<string, string>>;

const previous = previousVersion();
const older = versionOfOlderSchema();
// Where the whole suite must pass there is a history.
const isPossible = process.env.CI !== undefined || (previous !== undefined && older !== undefined);
const name = isPossible
  ? "the version before this one"
  : "the version before this one: skipped, this checkout has no history to take it from (git fetch --unshallow)";

const programOf = (earlier: EarlierVersion | undefined): string => earlier?.program ?? expect.unreachable("this checkout has no history");

const start = ({ DATA_DIR: dataDir, ...env }: Env, program?: string): Promise<ServiceProcess> =>
  startService({ env, program, ...(dataDir !== undefined && { dataDir }) });

const callerOf = ({ url }: ServiceProcess, rootKey: string): Call => {
  const edge = v2Edge(url);
  return async (procedure, body) => dataOf(await edge.call(procedure, body, rootKey));
};

const codeOf = async (call: Call, key: unknown): Promise<unknown> => (await call("keys.verifyKey", { key })).code;

/** Waits until `look` gives the expected value, at most for the contract's bound. */
const eventually = async (look: () => Promise<unknown>, expected: unknown): Promise<void> =>
  expect.poll(look, { timeout: BOUND_MS, interval: 50 }).toBe(expected);

const createKey = async (call: Call, fields: Data = {}): Promise<{ readonly key: unknown; readonly keyId: unknown }> => {
  const { apiId } = await call("apis.createApi", { name: "versions" });
  const { key, keyId } = await call("keys.createKey", { apiId, name: "Versions", externalId: "user_1", meta: { a: 1 }, ...fields });
  return { key, keyId };
};

const expectWholeAudit = async (env: Env): Promise<void> => {
  expect((await runLatchkeyHere(["audit", "verify"], env)).code).toBe(0);
};

/** Verifies by both versions' command lines that the audit log is whole. */
const expectWholeByBoth = async (env: Env): Promise<void> => {
  await expectWholeAudit(env);
  expect(await runLatchkey(["audit", "verify"], env, "", programOf(previous))).toMatchObject({ code: 0 });
};

const refusal = /the store was written by a newer version: its schema is \d+, this version understands up to \d+/;

describe.skipIf(!isPossible)(name, () => {
  const opened: { readonly place: Place; readonly env: Env }[] = [];
  const open = async (place: Place): Promise<Env> => {
    const env = await place.open();
    opened.push({ place, env });
    return env;
  };
  const rootKeyOf = async (env: Env): Promise<string> => {
    const { code, stdout, stderr } = await runLatchkey(["root-key", "create", "--name", "test"], env, "", programOf(previous));
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  afterAll(async () => {
    await Promise.all(opened.map(({ place, env }) => place.close(env)));
    previous?.remove();
    older?.remove();
  });

  const mongo = places.filter((place) => place.name === "mongo");
  describe.each(mongo)("next to it on $name, under load", (place) => {
    let env: Env;
    let rootKey: string;
    let services: readonly ServiceProcess[];
    let calls: readonly [Call, Call];
    let isOver = false;
    let load: Promise<unknown> = Promise.resolve();
    let answers = 0;

    beforeAll(async () => {
      env = await open(place);
      rootKey = await rootKeyOf(env);
      const before = await start(env, programOf(previous));
      // As an upgrade goes: the job beside the nodes of before, then nodes of this version.
      expect(await runLatchkeyHere(["migrate"], env)).toMatchObject({ code: 0, stderr: "" });
      services = [before, await start(env)];
      calls = services.map((service) => callerOf(service, rootKey)) as unknown as [Call, Call];
      const { key } = await createKey(calls[0], { ratelimits: [{ name: "all", limit: 1_000_000, duration: MONTH, autoApply: true }] });
      const loop = async (call: Call): Promise<void> => {
        while (!isOver) {
          expect(await codeOf(call, key)).toBe("VALID");
          expect(await call("ratelimit.limit", { namespace: "load", identifier: "all", limit: 1_000_000, duration: MONTH })).toMatchObject({
            success: true,
          });
          answers++;
          // Calls to both nodes overlap with everything that follows. A higher rate would show nothing more.
          await sleep(20);
        }
      };
      load = Promise.all(calls.flatMap((call) => Array.from({ length: LOOPS }, () => loop(call))));
      // It is looked at when the load is over.
      load.catch(() => undefined);
    });
    afterAll(async () => {
      isOver = true;
      await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
    });

    test.each([
      ["it", "this one", 0, 1],
      ["this one", "it", 1, 0],
    ] as const)("[data §2] what %s writes %s reads and changes, and a revocation is seen in time", async (_, __, from, to) => {
      const [writer, reader] = [calls[from], calls[to]];
      const { key, keyId } = await createKey(writer, { permissions: ["versions.read"] });
      await eventually(() => codeOf(reader, key), "VALID");
      expect(await reader("keys.verifyKey", { key, permissions: "versions.read" })).toMatchObject({ code: "VALID", name: "Versions" });
      const [older, newer] = await Promise.all(calls.map((call) => call("keys.getKey", { keyId })));
      expect(newer).toMatchObject(older ?? {});
      await reader("keys.updateKey", { keyId, name: "Renamed", credits: { remaining: 9 } });
      expect(await writer("keys.getKey", { keyId })).toMatchObject({ name: "Renamed", credits: { remaining: 9 } });
      await writer("keys.updateKey", { keyId, enabled: false });
      expect(await codeOf(writer, key)).toBe("DISABLED");
      await eventually(() => codeOf(reader, key), "DISABLED");
      await reader("keys.deleteKey", { keyId });
      expect(await codeOf(reader, key)).toBe("NOT_FOUND");
      await eventually(() => codeOf(writer, key), "NOT_FOUND");
    });

    test("[data §2] parallel calls to both spend exactly the credits there are, and what a limit allows", async () => {
      const { key, keyId } = await createKey(calls[0], { credits: { remaining: 30 } });
      const each = Array.from({ length: 60 }, (_, n) => calls[n % 2] ?? expect.unreachable());
      await eventually(() => codeOf(calls[1], key), "VALID");
      const codes = await Promise.all(each.map((call) => codeOf(call, key)));
      expect(codes.filter((code) => code === "VALID").length).toBe(29);
      for (const call of calls) expect(await call("keys.getKey", { keyId })).toMatchObject({ credits: { remaining: 0 } });
      const body = { namespace: "versions", identifier: "user", limit: 20, duration: MONTH };
      const checked = await Promise.all(each.map((call) => call("ratelimit.limit", body)));
      const passed = checked.filter(({ success }) => success).length;
      // Of several nodes never more, and at least 95 %.
      expect(passed).toBeLessThanOrEqual(20);
      expect(passed).toBeGreaterThanOrEqual(19);
    });

    test("[data §2] the audit log that both have written verifies by both", async () => {
      await expectWholeByBoth(env);
    });

    test("[data §2] after the nodes of this version are gone it keeps working alone, and starts again", async () => {
      isOver = true;
      await load;
      expect(answers).toBeGreaterThan(0);
      const [before, current] = services;
      const made = await createKey(calls[1], { credits: { remaining: 3 } });
      expect(await current?.stop()).toBe(0);
      expect(await codeOf(calls[0], made.key)).toBe("VALID");
      expect(await before?.stop()).toBe(0);
      await using again = await start(env, programOf(previous));
      const call = callerOf(again, rootKey);
      expect(await codeOf(call, made.key)).toBe("VALID");
      expect(await call("keys.getKey", { keyId: made.keyId })).toMatchObject({ credits: { remaining: 1 } });
      await call("keys.deleteKey", { keyId: made.keyId });
      expect(await codeOf(call, made.key)).toBe("NOT_FOUND");
      await expectWholeByBoth(env);
    });
  });

  const embedded = places.filter((place) => place.name === "embedded");
  test.each(embedded)(
    "[data §2] and this one, one after the other on the $name store, lose nothing, counts of rate limits included",
    async (place) => {
      const env = await open(place);
      const rootKey = await rootKeyOf(env);
      let shared: { readonly key: unknown; readonly keyId: unknown } | undefined;
      const valid: unknown[] = [];
      const revoked: unknown[] = [];
      const limit = { namespace: "versions", identifier: "user", limit: 15, duration: MONTH };
      for (const program of [programOf(previous), undefined, programOf(previous)]) {
        await using service = await start(env, program);
        const call = callerOf(service, rootKey);
        shared ??= await createKey(call, { credits: { remaining: 15 } });
        const { key, keyId } = shared;
        const spent = await Promise.all(Array.from({ length: 5 }, () => codeOf(call, key)));
        expect(new Set(spent)).toEqual(new Set(["VALID"]));
        expect(await call("keys.getKey", { keyId })).toMatchObject({ credits: { remaining: 15 - 5 * (valid.length + 1) } });
        for (let i = 0; i < 5; i++) expect(await call("ratelimit.limit", limit)).toMatchObject({ success: true });
        for (const each of valid) expect(await codeOf(call, each)).toBe("VALID");
        for (const each of revoked) expect(await codeOf(call, each)).toBe("NOT_FOUND");
        const [kept, gone] = [await createKey(call), await createKey(call)];
        await call("keys.deleteKey", { keyId: gone.keyId });
        valid.push(kept.key);
        revoked.push(gone.key);
        if (valid.length === 3) expect(await codeOf(call, key)).toBe("USAGE_EXCEEDED");
        if (valid.length === 3) expect(await call("ratelimit.limit", limit)).toMatchObject({ success: false });
        expect(await service.stop()).toBe(0);
      }
      // The version before calls entries altered that this one wrote when it was alone.
      await expectWholeAudit(env);
    },
  );

  test.each(places)(
    "[data §2] a version of an older schema does not start on the store of this one on $name, nor the one before on a newer",
    async (place) => {
      const env = await open(place);
      await withStoreOf(env, async () => undefined);
      await expect(start(env, programOf(older))).rejects.toThrow(refusal);
      const newer = { $set: { schema: SCHEMA_VERSION + 1 } };
      await withStoreOf(env, (store) => store.collection("system").updateOne({ _id: "schema" }, newer));
      await expect(start(env, programOf(previous))).rejects.toThrow(refusal);
    },
  );
});
