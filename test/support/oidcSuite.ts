import { afterAll, beforeAll, expect } from "vitest";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { type Api, dataOf, startApi, type TestEnvironment } from "./api.ts";
import type { ConsoleAnswer } from "./browser.ts";
import { request } from "./envelope.ts";
import { startProvider, type TestProvider } from "./identityProvider.ts";
import { openPerson, type Person } from "./person.ts";
import type { Engine } from "./stores.ts";
import { createTestClock, type TestClock } from "./testClock.ts";

/** Two nodes on one store behind a proxy that speaks TLS, and a provider; they run while tests do. */
export interface OidcSuite {
  readonly clock: TestClock;
  readonly provider: TestProvider;
  readonly api: Api;
  readonly other: Api;
  /** The log of the nodes as text. */
  readonly logged: () => string;
  /** A browser without a session, at an address of its own unless told; of the first node unless told. */
  readonly person: (node?: Api, address?: string) => Person;
  /** A browser with a session of a person that the provider knows. */
  readonly signedIn: (account: string) => Promise<Person>;
  /** A person who comes back from the provider, next to `address`. @param query of the first address */
  readonly returning: (account?: string, query?: string) => Promise<{ readonly person: Person; readonly address: string }>;
  /** Another node on the same store. */
  readonly startBeside: (env: TestEnvironment) => Promise<Api>;
  /** Entries of the audit log about a resource or by an actor. */
  readonly entries: (filter: object) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export const publicUrl = "https://keys.test";
export const roundCookie = "__Host-latchkey-oidc";
export const sessionCookie = "__Host-latchkey";

/** The reason why sign-in failed: a word in the address that the browser is redirected to. */
export const failureIn = ({ status, headers }: ConsoleAnswer): string | null => {
  expect(status).toBe(303);
  return new URL(headers.location ?? "", publicUrl).searchParams.get("oidc");
};

/** The address with other parameters. */
export const altered = (address: string, changes: Readonly<Record<string, string>>): string => {
  const url = new URL(address);
  for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, value);
  return url.href;
};

const permissions = {
  platform: ["*"],
  support: ["api.*.read_api", "api.*.read_key", "root_key.*.create_root_key", "root_key.*.read_root_key"],
};

export const oidcSuite = (engine: Engine): OidcSuite => {
  const clock = createTestClock(Date.now());
  const nodes: Api[] = [];
  const lines: string[] = [];
  let provider: TestProvider | undefined;
  let addresses = 0;
  const node = (i: number): Api => nodes[i] ?? expect.unreachable("the service runs only while tests do");
  const known = (): TestProvider => provider ?? expect.unreachable("the provider runs only while tests do");
  const log = createLog("trace", { write: (line) => lines.push(line) });
  const start = async (store: Store, env: TestEnvironment): Promise<Api> => {
    const all = { PUBLIC_URL: publicUrl, TRUSTED_PROXIES: "127.0.0.1", ...known().env, ...env };
    const api = await startApi(engine, { store, clock, log, env: all });
    nodes.push(api);
    return api;
  };
  let opened: Store | undefined;
  const startBeside = async (env: TestEnvironment): Promise<Api> =>
    start(await engine.openBeside(opened ?? expect.unreachable("there is no store yet")), env);
  beforeAll(async () => {
    provider = await startProvider(permissions);
    provider.serve(publicUrl);
    provider.accounts.set("alice", { name: "Alice", groups: ["staff", "platform"] });
    provider.accounts.set("bob", { name: "Bob", groups: ["support"] });
    provider.accounts.set("carol", { name: "Carol", groups: ["staff"] });
    opened = await engine.open();
    await start(opened, {});
    await startBeside({});
  });
  afterAll(async () => {
    for (const each of nodes.reverse()) await each.close();
    await engine.close();
    await provider?.[Symbol.asyncDispose]();
  });
  const person: OidcSuite["person"] = (at = node(0), address = `192.0.2.${++addresses}`) =>
    openPerson(at.url, { host: "keys.test", origin: publicUrl, "x-forwarded-proto": "https", "x-forwarded-for": address });
  return {
    clock,
    get provider() {
      return known();
    },
    get api() {
      return node(0);
    },
    get other() {
      return node(1);
    },
    logged: () => lines.join(""),
    person,
    signedIn: async (account) => {
      known().account = account;
      const somebody = person();
      expect((await somebody.signIn()).headers.location).toBe("/ui");
      return somebody;
    },
    returning: async (account = "alice", query = "") => {
      known().account = account;
      const somebody = person();
      return { person: somebody, address: await somebody.atProvider((await somebody.start(query)).headers.location) };
    },
    startBeside,
    entries: async (filter) =>
      dataOf(await request(node(0).url, "audit.getLogs", { rootKey: node(0).rootKey, body: filter })) as unknown as Record<
        string,
        unknown
      >[],
  };
};
