import { afterAll, beforeAll, expect } from "vitest";
import type { SessionDocument } from "../../src/platform/storage/port/consoleDocuments.ts";
import { type Api, dataOf, startApi } from "./api.ts";
import { type Browser, type ConsoleAnswer, failureOf, openBrowser } from "./browser.ts";
import { request } from "./envelope.ts";
import type { Engine } from "./stores.ts";
import { createTestClock, type TestClock } from "./testClock.ts";

/** Two nodes on one store, with one clock; they run while tests do. */
export interface ConsoleSuite {
  readonly clock: TestClock;
  readonly api: Api;
  readonly other: Api;
  /** A browser with a session, of the root key that may do everything and the first node unless told. */
  readonly signedIn: (rootKey?: string, node?: Api) => Promise<Browser>;
  /** A call on `/v2` that must succeed. */
  readonly v2: (procedure: string, body: object) => Promise<Record<string, unknown>>;
  /** One that may sign in and read APIs unless told. */
  readonly newRootKey: (permissions?: readonly string[]) => Promise<{ readonly keyId: string; readonly key: string }>;
  readonly sessionsInStore: (rootKeyId: string) => Promise<readonly SessionDocument[]>;
}

/** Asserts that there is no session, or no more. */
export const expectEnded = (answer: ConsoleAnswer): void => {
  expect([answer.status, failureOf(answer)]).toMatchObject([401, { code: "unauthenticated", type: "unkey/console/session_required" }]);
};

/** The data of a success. */
export const expectDone = (answer: ConsoleAnswer): ConsoleAnswer["body"]["data"] => {
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.body.data;
};

/** A call that counts as use of the session. */
export const use = (browser: Browser): Promise<ConsoleAnswer> => browser.call("ApisService.ListApis");

export const consoleSuite = (engine: Engine): ConsoleSuite => {
  const clock = createTestClock(Date.now());
  const nodes: Api[] = [];
  const node = (i: number): Api => nodes[i] ?? expect.unreachable("the service runs only while tests do");
  beforeAll(async () => {
    const store = await engine.open();
    nodes.push(await startApi(engine, { store, clock }), await startApi(engine, { store: await engine.openBeside(store), clock }));
  });
  afterAll(async () => {
    for (const each of nodes.reverse()) await each.close();
    await engine.close();
  });
  const v2: ConsoleSuite["v2"] = async (procedure, body) =>
    dataOf(await request(node(0).url, procedure, { rootKey: node(0).rootKey, body }));
  return {
    clock,
    get api() {
      return node(0);
    },
    get other() {
      return node(1);
    },
    v2,
    signedIn: async (rootKey = node(0).rootKey, at = node(0)) => {
      const browser = openBrowser(at.url);
      expectDone(await browser.signIn(rootKey));
      return browser;
    },
    newRootKey: async (permissions = ["console.*.sign_in", "api.*.read_api"]) =>
      (await v2("rootKeys.createKey", { permissions })) as { keyId: string; key: string },
    sessionsInStore: async (rootKeyId) =>
      (await node(0).store.collection("sessions").find({}).toArray()).filter((session) => session.rootKeyId === rootKeyId),
  };
};
