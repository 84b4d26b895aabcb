import { afterAll, beforeAll, describe } from "vitest";
import type { Answer, Edge } from "../../bench/harness/v2Edge.ts";
import { createLeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { type Api, dataOf, type StartOptions, startApi } from "./api.ts";
import { sized } from "./sized.ts";
import { type Engine, engines } from "./stores.ts";

const everyEdge: readonly Edge["name"][] = ["v2", "connect", "grpc", "grpc-web", "grpc-js"];

/** `npm test` calls by JSON, `npm run test:deep` in the other ways, which have the same procedures behind them. */
const usual: readonly string[] = sized(["v2"], ["connect", "grpc", "grpc-web", "grpc-js"]);

/** Those of the edges that `LATCHKEY_TEST_EDGES` names (`v2,connect`) instead of the usual ones; of a suite of others, the first. */
const chosen = (edges: readonly Edge["name"][]): readonly Edge["name"][] => {
  const names = process.env.LATCHKEY_TEST_EDGES?.split(",") ?? usual;
  const named = edges.filter((edge) => names.includes(edge));
  return named.length === 0 ? edges.slice(0, 1) : named;
};

/** The tools of tests on one edge and engine. `api` and `other` exist while tests run, not while they are defined. */
export interface Run {
  readonly engine: Engine["name"];
  readonly edge: Edge["name"];
  readonly api: Api;
  /** A second node on the same store, started when it is first asked for. */
  readonly other: () => Promise<Api>;
  /** Calls over this run's edge, as the all-powerful root key unless another is given. */
  readonly call: (procedure: string, body: unknown, rootKey?: string, node?: Api) => Promise<Answer>;
  /** As `call`, for calls that must succeed; resolves to the data. */
  readonly data: (procedure: string, body: unknown, rootKey?: string, node?: Api) => Promise<Record<string, unknown>>;
  /** A text that no other test uses: `stem-v2-7`. */
  readonly unique: (stem: string) => string;
  readonly createApi: () => Promise<string>;
  /** A key in a new API unless `fields` says otherwise. */
  readonly createKey: (
    fields?: Readonly<Record<string, unknown>>,
  ) => Promise<{ readonly keyId: string; readonly key: string; readonly apiId: string }>;
  readonly getKey: (keyId: string) => Promise<Record<string, unknown>>;
  readonly verify: (key: string, fields?: object) => Promise<Record<string, unknown>>;
}

const DAY = 86_400_000;

interface Nodes {
  first: Api | undefined;
  second: Promise<Api> | undefined;
}

const started = (api: Api | undefined): Api => {
  if (!api) throw new Error("the service runs only while tests do");
  return api;
};

const createRun = (engine: Engine["name"], edge: Edge["name"], nodes: Nodes, startSecond: () => Promise<Api>): Run => {
  let counter = 0;
  const unique: Run["unique"] = (stem) => `${stem}-${edge}-${++counter}`;
  const call: Run["call"] = (procedure, body, rootKey, node = started(nodes.first)) => {
    const found = node.edges.find(({ name }) => name === edge);
    if (!found) throw new Error(`there is no edge ${edge}`);
    return found.call(procedure, body, rootKey ?? started(nodes.first).rootKey);
  };
  const data: Run["data"] = async (...args) => dataOf(await call(...args));
  const createApi: Run["createApi"] = async () => (await data("apis.createApi", { name: unique("api") })).apiId as string;
  return {
    engine,
    edge,
    get api() {
      return started(nodes.first);
    },
    other: () => {
      nodes.second ??= startSecond();
      return nodes.second;
    },
    call,
    data,
    unique,
    createApi,
    createKey: async (fields = {}) => {
      const apiId = (fields.apiId as string | undefined) ?? (await createApi());
      const { keyId, key } = await data("keys.createKey", { apiId, ...fields });
      return { keyId: keyId as string, key: key as string, apiId };
    },
    getKey: (keyId) => data("keys.getKey", { keyId }),
    verify: (key, fields = {}) => data("keys.verifyKey", { key, ...fields }),
  };
};

/** Settings of every service of a suite; the nodes of one store share the clock. */
export type SuiteOptions = Pick<StartOptions, "clock" | "env" | "flushUsedPermissionsEvery">;

const onEngine = (engine: Engine, edges: readonly Edge["name"][], define: (run: Run) => void, options: SuiteOptions): void => {
  const nodes: Nodes = { first: undefined, second: undefined };
  let startSecond: (() => Promise<Api>) | undefined;
  beforeAll(async () => {
    const store = await engine.open();
    // Suites take longer than two minutes. Hold the lease, or a sweep would change the compared rows.
    await createLeasesRepository(store).acquire("sweep", "this suite", Date.now(), DAY);
    nodes.first = await startApi(engine, { ...options, store });
    startSecond = async () => startApi(engine, { ...options, store: await engine.openBeside(store) });
  });
  afterAll(async () => {
    await (await nodes.second)?.close();
    await nodes.first?.close();
    await engine.close();
  });
  const second = async (): Promise<Api> => {
    if (!startSecond) throw new Error("the service runs only while tests do");
    return startSecond();
  };
  for (const edge of edges) describe(`over ${edge}`, () => define(createRun(engine.name, edge, nodes, second)));
};

/** Defines a suite on every engine and over every edge, or those given: one service for each engine and file. */
export const everywhere = (define: (run: Run) => void, edges: readonly Edge["name"][] = everyEdge, options: SuiteOptions = {}): void => {
  for (const engine of engines) describe(`on ${engine.name}`, () => onEngine(engine, chosen(edges), define, options));
};
