// @same-on-every-engine
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { openEmbeddedStore } from "../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import { embeddedAnalytics } from "../../support/analytics.ts";
import { type Api, startApi } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { procedureCaller } from "../../support/procedureCaller.ts";
import { engines } from "../../support/stores.ts";

const PERSON = "dave_7731";
const OTHER = "anne_1177";

/** The files of the embedded analytics engine and of the store, while the service keeps running. */
describe("[data §4] latchkey identity erase", () => {
  const { env, directory, remove } = embeddedAnalytics();
  let api: Api;
  beforeAll(async () => {
    const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
    await store.prepare();
    const [engine = expect.unreachable()] = engines;
    api = await startApi(engine, { store, env });
  });
  afterAll(async () => {
    await api.close();
    remove();
  });

  const call = (procedure: string, body: object) => procedureCaller(api.url, api.rootKey)(procedure, body);
  const latchkey = (...args: readonly string[]) => runCommand(args, { LATCHKEY_URL: api.url, LATCHKEY_ROOT_KEY: api.rootKey });
  const usage = async (externalId: string) => {
    const now = Date.now();
    const counts = await Promise.all(
      ["minute", "month"].map(async (granularity) => {
        const span = { start: now - (granularity === "month" ? 30 * 86_400_000 : 600_000), end: now + 60_000 };
        const asked = { kind: "verifications", granularity, groupBy: ["externalId"], filter: { externalId: [externalId] }, ...span };
        return ((await call("analytics.getUsage", asked)) as unknown as { count: number }[]).reduce((sum, { count }) => sum + count, 0);
      }),
    );
    return counts;
  };
  const rowsOf = async (table: string) =>
    JSON.stringify(await call("analytics.getVerifications", { query: `SELECT external_id, identity_id FROM ${table}` }));
  const filesWith = (text: string): string[] =>
    readdirSync(directory).filter((name) => name.startsWith("latchkey") && readFileSync(join(directory, name)).includes(text));

  test("leaves nothing of the person in the files of the store, nor in the tables of analytics, and others as they were", async () => {
    const { apiId } = await call("apis.createApi", { name: "api" });
    for (const externalId of [PERSON, OTHER]) {
      // Metadata of several pages of the file, which are free afterwards.
      const { key, keyId } = await call("keys.createKey", {
        apiId,
        externalId,
        name: externalId,
        meta: { text: externalId.repeat(2_000) },
      });
      for (let i = 0; i < 3; i++) await call("keys.verifyKey", { key });
      await call("keys.updateKey", { keyId, meta: { text: externalId } });
    }
    await eventually(async () => expect(await usage(OTHER)).toEqual([3, 3]));
    await eventually(async () => expect(await usage(PERSON)).toEqual([3, 3]));
    expect(filesWith(PERSON).length).toBeGreaterThan(0);

    const { code, printed } = await latchkey("identity", "erase", PERSON, "--yes");
    expect(printed).toEqual([`${PERSON}: erased (1 key, 3 entries of the audit log, 3 verifications)`]);
    expect(code).toBe(0);
    expect(filesWith(PERSON)).toEqual([]);
    for (const table of ["key_verifications_v1", ...["minute", "hour", "day", "month"].map((step) => `key_verifications_per_${step}_v1`)]) {
      const rows = await rowsOf(table);
      expect(rows).not.toContain(PERSON);
      expect(rows).toContain(OTHER);
    }
    expect((await latchkey("audit", "verify")).printed.at(-1)).toBe("The log is whole.");
    const verified = await runCommand(["audit", "verify"], { DATA_DIR: directory });
    expect(verified.printed.slice(1)).toEqual(["3 entries without texts, which were erased.", "The log is whole."]);

    const again = await latchkey("identity", "erase", PERSON, "--yes");
    expect(again.code).toBe(4);
    expect(again.complained[0]).toBe(`latchkey: The identity ${PERSON} does not exist.`);
  });
});
