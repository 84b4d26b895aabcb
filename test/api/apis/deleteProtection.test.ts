import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandResult, runCommand } from "../../../bench/harness/commandLine.ts";
import { type Intercept, interceptStore } from "../../../bench/harness/interceptStore.ts";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { openStore } from "../../../src/platform/storage/openStore.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { type Api, dataOf, expectError, startApi, testConfig } from "../../support/api.ts";
import { places } from "../../support/places.ts";
import { type Engine, engines } from "../../support/stores.ts";
import { eventsIn } from "../../support/written.ts";

const PROTECTED = "unkey/application/protected_resource";
const NOT_FOUND = "unkey/data/api_not_found";

describe.each(places)("on $name, next to a running service", ({ open, close }) => {
  let env: Record<string, string>;
  let store: Store;
  let api: Api;
  /** Done right before the next deletion is written, once. */
  let ambush: (() => Promise<unknown>) | undefined;
  const intercept: Intercept = async (operation, { collection, name }) => {
    if (collection === "apis" && name === "updateOne" && ambush) {
      const act = ambush;
      ambush = undefined;
      await act();
    }
    return operation();
  };
  beforeAll(async () => {
    env = await open();
    store = await openStore({ ...testConfig(env), clock: systemClock, mode: "server" });
    await store.prepare();
    api = await startApi(engines[0] as Engine, { store: interceptStore(store, intercept) });
  });
  afterAll(async () => {
    await api.close();
    await store.close();
    await close(env);
  });

  const call = (procedure: string, body: object, rootKey = api.rootKey): Promise<Answer> =>
    api.edges[0]?.call(procedure, body, rootKey) ?? expect.unreachable();
  const data = async (procedure: string, body: object) => dataOf(await call(procedure, body));
  const createApi = async (): Promise<string> => (await data("apis.createApi", { name: "guarded" })).apiId as string;
  const remove = (apiId: string, rootKey?: string) => call("apis.deleteApi", { apiId }, rootKey);
  const protect = (apiId: string, ...options: string[]): Promise<CommandResult> => runCommand(["api", "protect", apiId, ...options], env);
  const eventsOf = async (apiId: string): Promise<string[]> =>
    (await eventsIn(store))
      .filter(({ resources }) => resources.some(({ id }) => id === apiId))
      .map(({ event, actor, resources }) => `${event} by ${actor.type} on ${resources[0]?.name}`);

  test("[apis deleteApi] a protected API is 412 until the protection is lifted", async () => {
    const apiId = await createApi();
    expect(await protect(apiId)).toMatchObject({ code: 0, printed: [] });
    const error = expectError(await remove(apiId), 412, PROTECTED);
    expect(error).toMatchObject({ title: "Precondition Failed", detail: expect.stringMatching(/protect/) });
    expect(await data("apis.getApi", { apiId })).toEqual({ id: apiId, name: "guarded" });
    expect(await protect(apiId, "--off")).toMatchObject({ code: 0, printed: [] });
    expect(dataOf(await remove(apiId))).toEqual({});
    expectError(await remove(apiId), 404, NOT_FOUND);
  });

  test("[apis deleteApi] it blocks nothing but deleteApi: keys are made, verified and deleted as before", async () => {
    const apiId = await createApi();
    await protect(apiId);
    const { keyId, key } = await data("keys.createKey", { apiId });
    expect(await data("keys.verifyKey", { key })).toMatchObject({ valid: true });
    expect(await data("apis.listKeys", { apiId })).toHaveLength(1);
    await data("keys.deleteKey", { keyId, permanent: true });
    expect(await data("keys.verifyKey", { key })).toMatchObject({ code: "NOT_FOUND" });
  });

  test("[apis deleteApi] protection is looked at after 403 and 404", async () => {
    const apiId = await createApi();
    await protect(apiId);
    const weak = await api.createRootKey({ permissions: ["api.*.read_api", "api.*.update_api"] });
    expectError(await remove(apiId, weak), 403, "insufficient_permissions");
    expectError(await remove("api_unknown1234"), 404, NOT_FOUND);
  });

  test("[apis createApi] protection starts off, and createApi does not set it", async () => {
    const error = expectError(await call("apis.createApi", { name: "guarded", protected: true }), 400, "invalid_input");
    expect(error.errors?.map(({ location }) => location)).toEqual(["body.protected"]);
    expect((await remove(await createApi())).status).toBe(200);
  });

  test("[apis deleteApi] an API that is protected between look-up and deletion stays", async () => {
    const apiId = await createApi();
    ambush = () => protect(apiId);
    expectError(await remove(apiId), 412, PROTECTED);
    expect((await call("apis.getApi", { apiId })).status).toBe(200);
    expect(await eventsOf(apiId)).toEqual(["api.create by rootkey on guarded", "api.update by system on guarded"]);
  });

  test("[management §8] one api.update by the system for each command, also for what is so already, none for refusals", async () => {
    const apiId = await createApi();
    for (const options of [["--off"], [], [], ["--off"], ["--off"]]) expect((await protect(apiId, ...options)).code).toBe(0);
    await protect(apiId);
    expectError(await remove(apiId), 412, PROTECTED);
    expect(await eventsOf(apiId)).toEqual([
      "api.create by rootkey on guarded",
      ...Array<string>(6).fill("api.update by system on guarded"),
    ]);
  });

  test("[apis deleteApi] a deleted or unknown API cannot be protected: the command fails and changes nothing", async () => {
    const apiId = await createApi();
    await remove(apiId);
    const before = await eventsOf(apiId);
    for (const id of [apiId, "api_unknown1234"]) {
      for (const options of [[], ["--off"]]) {
        const { code, complained } = await protect(id, ...options);
        expect(code).toBe(4);
        expect(complained.join("\n")).toContain(`${id} does not exist`);
      }
    }
    expect(await eventsOf(apiId)).toEqual(before);
  });

  test.each([
    [["api", "protect"], "API_ID"],
    [["api", "protect", "api_1", "api_2"], "api_2"],
    [["api", "protect", "api_1", "--on"], "--on"],
  ])("[apis deleteApi] wrong usage is refused: %j", async (args, message) => {
    const { code, complained } = await runCommand(args, env);
    expect(code).toBe(2);
    expect(complained.join("\n")).toContain(message);
  });

  test("[apis deleteApi] racing deletions: one is 200 and the others 404, with one event", async () => {
    const apiId = await createApi();
    const answers = await Promise.all(Array.from({ length: 12 }, () => remove(apiId)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(11).fill(404)]);
    expect(await eventsOf(apiId)).toEqual(["api.create by rootkey on guarded", "api.delete by rootkey on guarded"]);
  });
});
