import { pino } from "pino";
import { expect } from "vitest";
import type { Answer, Edge } from "../../bench/harness/v2Edge.ts";
import { systemSource } from "../../src/features/audit/auditEvent.ts";
import { createRootKey, type NewRootKey } from "../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../../src/features/rootKeys/rootKeysRepository.ts";
import { type Clock, type SettableClock, systemClock } from "../../src/platform/base/clock.ts";
import { type Config, loadConfig } from "../../src/platform/config/loadConfig.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import type { Log } from "../../src/platform/telemetry/log.ts";
import { createService, type Service } from "../../src/service/createService.ts";
import { openEdges } from "./edges.ts";
import type { Engine } from "./stores.ts";

/** Settings of a test; undefined = not set, whatever tests set otherwise. */
export type TestEnvironment = Readonly<Record<string, string | undefined>>;

/** A configuration for tests: free ports on the loopback interface, and no engine for analytics unless it is asked for. */
export const testConfig = (env: TestEnvironment = {}): Config => {
  const result = loadConfig({ PORT: "0", ADMIN_PORT: "0", ANALYTICS: "off", ...env });
  if ("problems" in result) throw new Error(result.problems.join("; "));
  return result.ok;
};

/** A running service on a store of its own. */
export interface Api {
  readonly service: Service;
  readonly store: Store;
  readonly url: string;
  readonly adminUrl: string;
  readonly consoleUrl: string | undefined;
  readonly errorsBaseUrl: string;
  readonly edges: readonly Edge[];
  /** A root key that holds every permission. */
  readonly rootKey: string;
  readonly createRootKey: (options?: NewRootKey) => Promise<string>;
  readonly close: () => Promise<void>;
}

export interface StartOptions {
  readonly clock?: Clock;
  /** Instead of `clock`: one that `testing.setTime` turns. */
  readonly testClock?: SettableClock;
  readonly env?: TestEnvironment;
  /** Instead of a fresh one; prepared already. */
  readonly store?: Store;
  /** Instead of one that is silent. */
  readonly log?: Log;
  /** Milliseconds between two writes of the permissions that root keys use; those of the service unless told. */
  readonly flushUsedPermissionsEvery?: number;
  /** Directory of the console's built files. */
  readonly consoleFiles?: string;
  /** Directory of the rendered documentation. */
  readonly documentationFiles?: string;
}

/** A store as it was prepared when it was opened, for a service, which would prepare it once more: a MongoDB server has forty commands to answer then. */
const asPrepared = (store: Store): Store => ({ ...store, prepare: async () => undefined });

export const startApi = async (engine: Engine, options: StartOptions = {}): Promise<Api> => {
  const { testClock, clock = testClock ?? systemClock, env, store = await engine.open(), log = pino({ level: "silent" }) } = options;
  const service = await createService(testConfig(env), {
    ...(testClock ? { testClock } : { clock }),
    store: asPrepared(store),
    log,
    linger: 0,
    flushUsedPermissionsEvery: options.flushUsedPermissionsEvery,
    consoleFiles: options.consoleFiles,
    documentationFiles: options.documentationFiles,
  });
  const { url, adminUrl, consoleUrl, errorsBaseUrl } = await service.start();
  const rootKeys = createRootKeysRepository(service.store);
  const makeRootKey = async (options: NewRootKey = {}): Promise<string> =>
    (await createRootKey(rootKeys, options, systemSource(clock))).key.reveal();
  const edges = openEdges(url);
  return {
    service,
    store: service.store,
    url,
    adminUrl,
    consoleUrl,
    errorsBaseUrl,
    edges,
    rootKey: await makeRootKey({ name: "test" }),
    createRootKey: makeRootKey,
    close: async () => {
      for (const edge of edges) edge.close();
      await service.stop();
    },
  };
};

const REQUEST_ID = /^req_[A-Za-z0-9_-]{8,}$/;

/** The `data` of a success; fails the test otherwise, showing the error. */
export const dataOf = ({ status, body: { error, meta, data } }: Answer): Record<string, unknown> => {
  // Tens of thousands of answers come by here: a matcher is made for those only that are wrong.
  if (error !== undefined || status !== 200 || !REQUEST_ID.test(meta.requestId))
    expect.unreachable(JSON.stringify({ status, error, meta }));
  return data as Record<string, unknown>;
};

/** Asserts an error by its status and the end of its type; returns it for further looks. */
export const expectError = (answer: Answer, status: number, type: string): NonNullable<Answer["body"]["error"]> => {
  const { error } = answer.body;
  const wrong = (): never => expect.unreachable(`expected ${status} ${type}, got ${answer.status} ${JSON.stringify(answer.body)}`);
  if (!error) return wrong();
  const isRight = answer.status === status && error.status === status && (error.type.split("/errors/").at(-1) ?? "").endsWith(type);
  if (!isRight || error.detail === "" || !REQUEST_ID.test(answer.body.meta.requestId)) return wrong();
  return error;
};
