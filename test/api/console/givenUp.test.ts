import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { createRootKeySecret } from "../../../src/platform/secrets/rootKeySecret.ts";
import type { CollectionName } from "../../../src/platform/storage/port/documents.ts";
import { type Api, startApi } from "../../support/api.ts";
import { openBrowser } from "../../support/browser.ts";
import { engines } from "../../support/stores.ts";

const unknownKey = createRootKeySecret().key.reveal();
/** Deadline of the calls, in milliseconds. */
const TIME = 250;

describe.each(engines)("sign-ins whose callers give up, on $name", (engine) => {
  let api: Api;
  /** Writes to this collection wait for the gate. */
  let held: CollectionName | undefined;
  let gate: PromiseWithResolvers<void>;
  let waiting: number;

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), async (operation, { kind, collection }) => {
      if (kind !== "read" && collection === held) {
        waiting++;
        await gate.promise;
      }
      return operation();
    });
    api = await startApi(engine, { store, env: { CONSOLE: "on" } });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });
  beforeEach(() => {
    gate = Promise.withResolvers();
    waiting = 0;
  });

  /** Signs in, again if the time was over before anything was to be written; the time is over while the write waits. */
  const giveUpAt = async (collection: CollectionName, rootKey: string): Promise<void> => {
    held = collection;
    while (waiting === 0) {
      const answer = openBrowser(api.url).call("SignIn", { rootKey }, { "connect-timeout-ms": String(TIME) });
      // The service runs in this process: its timer has fired before this one.
      await sleep(TIME + 100);
      if (waiting > 0) gate.resolve();
      expect((await answer).status).not.toBe(200);
    }
    held = undefined;
  };

  test("[console §2.7] a guess counts even when its caller has gone", async () => {
    await giveUpAt("failedSignIns", unknownKey);
    await expect
      .poll(async () => (await api.store.collection("failedSignIns").find({}).toArray()).flatMap(({ failures }) => failures))
      .toHaveLength(1);
  });

  test("[console §2.1] a session whose token was never received ends at once", async () => {
    await giveUpAt("sessions", api.rootKey);
    const events = async (): Promise<number> => (await api.store.collection("audit").findFields([], {})).length;
    await expect.poll(events).toBeGreaterThan(0);
    await expect
      .poll(async () => (await api.store.collection("sessions").find({}).toArray()).filter(({ erased }) => erased !== true))
      .toEqual([]);
  });
});
