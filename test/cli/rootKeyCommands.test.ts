import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { type Api, dataOf, expectError, startApi, testConfig } from "../support/api.ts";
import { places } from "../support/places.ts";
import { type Engine, engines } from "../support/stores.ts";

const FORBIDDEN = "unkey/authorization/insufficient_permissions";
const HOUR = 3_600_000;

describe.each(places)("the command line next to a running service on $name", ({ open, close }) => {
  let env: Record<string, string>;
  let store: Store;
  let api: Api;
  /** Done right before the next change of a root key is written, once. */
  let ambush: (() => Promise<unknown>) | undefined;
  beforeAll(async () => {
    env = await open();
    store = await openStore({ ...testConfig(env), clock: systemClock, mode: "server" });
    await store.prepare();
    const intercepted = interceptStore(store, async (operation, { collection, name }) => {
      if (collection === "rootKeys" && name === "findOneAndUpdate" && ambush) {
        const act = ambush;
        ambush = undefined;
        await act();
      }
      return operation();
    });
    api = await startApi(engines[0] as Engine, { store: intercepted });
  });
  afterAll(async () => {
    await api.close();
    await store.close();
    await close(env);
  });
  const call = (procedure: string, body: object, rootKey = api.rootKey): Promise<Answer> =>
    api.edges[0]?.call(procedure, body, rootKey) ?? expect.unreachable();
  const rootKey = (...args: string[]) => runCommand(["root-key", ...args], env);
  const list = async () =>
    dataOf(await call("rootKeys.listKeys", {})) as unknown as { keyId: string; name: string; permissions: string[] }[];

  test("[rootkeys §1] a new root key holds just the given permissions, and grants no more than those", async () => {
    const { code, printed } = await rootKey("create", "--name", "cli", "--permission", "root_key.*.create_root_key", "--expires", "1d");
    expect(code).toBe(0);
    const key = printed.at(-1) ?? "";
    const give = (...permissions: string[]) => call("rootKeys.createKey", { permissions, expires: Date.now() + HOUR }, key);
    dataOf(await give("root_key.*.create_root_key"));
    expectError(await give("api.*.read_api"), 403, FORBIDDEN);
    expectError(await call("rootKeys.createKey", { permissions: ["root_key.*.create_root_key"] }, key), 403, FORBIDDEN);

    const keyId = (await list()).find(({ name }) => name === "cli")?.keyId ?? "";
    expect(await rootKey("update", keyId, "--permission", "apis.*.read_api", "--permission", "root_key.*.create_root_key")).toMatchObject({
      code: 0,
    });
    // The service is notified.
    await expect.poll(async () => (await give("api.*.read_api")).status).toBe(200);
    expect((await list()).find((each) => each.keyId === keyId)?.permissions).toEqual(["api.*.read_api", "root_key.*.create_root_key"]);
    expect(await rootKey("update", keyId, "--permission", "api.*.fly")).toMatchObject({ code: 2 });
  });

  test("[rootkeys §2] it is the way back in for a root key that disabled itself", async () => {
    const printed = (await rootKey("create", "--name", "locked out")).printed.at(-1) ?? "";
    const keyId = (await list()).find(({ name }) => name === "locked out")?.keyId ?? "";
    dataOf(await call("rootKeys.updateKey", { keyId, enabled: false }, printed));
    expectError(await call("rootKeys.listKeys", {}, printed), 401, "unkey/authentication/key_disabled");
    expect(await rootKey("update", keyId, "--enable")).toMatchObject({ code: 0 });
    await expect.poll(async () => (await call("rootKeys.listKeys", {}, printed)).status).toBe(200);
  });

  test("[rootkeys §1] an expiry that it puts off while a call changes the root key is judged, too", async () => {
    const expires = Date.now() + HOUR;
    const caller = await api.createRootKey({ expires });
    const { keyId } = dataOf(await call("rootKeys.createKey", { permissions: ["api.*.read_api"], name: "mine", expires }, caller)) as {
      keyId: string;
    };
    ambush = () => rootKey("update", keyId, "--no-expiry");
    expectError(await call("rootKeys.updateKey", { keyId, name: "changed" }, caller), 403, FORBIDDEN);
    expect((await list()).find((each) => each.keyId === keyId)).toMatchObject({ name: "mine", expires: null });
  });

  test("[rootkeys §2] changes at once, of the call and of the command line, are both kept", async () => {
    const { keyId } = dataOf(await call("rootKeys.createKey", { permissions: ["api.*.read_api"], name: "raced" })) as { keyId: string };
    ambush = () => rootKey("update", keyId, "--expires", "2d", "--disable");
    dataOf(await call("rootKeys.updateKey", { keyId, permissions: ["rbac.*.read_role"] }));
    const found = (await list()).find((each) => each.keyId === keyId);
    expect(found).toMatchObject({ name: "raced", enabled: false, expires: expect.any(Number), permissions: ["rbac.*.read_role"] });
    // A reroll does not put an expiry off that was brought forward meanwhile.
    const { keyId: endless } = dataOf(await call("rootKeys.createKey", { permissions: ["api.*.read_api"] })) as { keyId: string };
    ambush = () => rootKey("update", endless, "--expires", "1d");
    dataOf(await call("rootKeys.rerollKey", { keyId: endless, expiration: 30 * 24 * HOUR }));
    const { expires } = (await list()).find((each) => each.keyId === endless) as unknown as { expires: number };
    expect(expires).toBeLessThan(Date.now() + 25 * HOUR);
  });
});
