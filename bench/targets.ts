import { createReadStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyLoad, type LoadRequest } from "./load.ts";
import { createPlace } from "./place.ts";
import { keyOf, populate } from "./population.ts";
import { type Cores, type NodeProcess, ownRoot, startServer } from "./processes.ts";
import { runCommand } from "./runCommand.ts";

const WARM_UP_SECONDS = 3;
/** A warm-up of so many calls takes as long as it must, up to so many seconds. */
const LONGEST_WARM_UP_SECONDS = 25;

const IDENTIFIERS = 100_000;

/** How many calls are in work at the same time. */
export const shapes: Readonly<Record<LoadRequest["protocol"], Pick<LoadRequest, "connections" | "streams">>> = {
  http1: { connections: 32, streams: 1 },
  http2: { connections: 4, streams: 8 },
};

export interface Target {
  readonly name: string;
  readonly description: string;
  /** Name of the target that its requests per second are compared with. */
  readonly yardstick: "http-echo" | "http2-echo";
  /** The ratio that it is to reach. */
  readonly goal?: number;
  readonly server: NodeProcess;
  readonly call: Pick<LoadRequest, "url" | "protocol" | "headers" | "body" | "vary">;
  /** Read through before it is loaded: the system may have put out of its memory what nobody asked for since the round before. */
  readonly file?: string;
  /** How long it is loaded before it is measured, if longer than the others. */
  readonly warmUpSeconds?: number | undefined;
  /** How many calls it gets at least before it is measured. */
  readonly warmUpCalls?: number;
  /** Operations on rate limit counters that the store has done for the service. */
  readonly counterOperations?: () => Promise<number>;
}

/** Loads a target until it is as fast as it gets. */
export const warmUp = async ({
  call,
  file,
  warmUpSeconds = WARM_UP_SECONDS,
  warmUpCalls = 0,
}: Pick<Target, "call" | "file" | "warmUpSeconds" | "warmUpCalls">): Promise<void> => {
  if (file !== undefined) for await (const _ of createReadStream(file, { highWaterMark: 1024 ** 2 }));
  let calls = 0;
  for (let passed = 0; passed === 0 || (calls < warmUpCalls && passed < LONGEST_WARM_UP_SECONDS); passed += warmUpSeconds) {
    calls += (await applyLoad({ ...call, ...shapes[call.protocol], seconds: warmUpSeconds })).requests;
  }
};

/** The arguments of Node with which `npm start` (`exec node …`) runs the service of a checkout. */
const startArguments = (root: string): readonly string[] => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { start: string } };
  const [exec, node, ...args] = scripts.start.split(" ");
  if (exec !== "exec" || node !== "node") throw new Error(`npm start of ${root} does not begin with "exec node": ${scripts.start}`);
  return args;
};

/** A running service. */
export interface Served {
  readonly server: NodeProcess;
  readonly url: string;
  readonly adminUrl: string;
  readonly rootKey: string;
  /** Calls a procedure of `/v2` as the root key; the `data` of its answer. */
  readonly call: <T>(procedure: string, body: object) => Promise<T>;
}

interface ServeOptions {
  /** What the first start writes to a file in `DATA_DIR` unless told. */
  readonly rootKey?: string;
  /** Flags of Node, such as those of the profiler. */
  readonly nodeFlags?: readonly string[] | undefined;
  /** The server's, unless told. */
  readonly cores?: Cores;
  /** The root of another checkout whose service it is. */
  readonly root?: string | undefined;
}

/** Starts the service on free ports and waits until it is ready. */
export const serve = async (
  env: Readonly<Record<string, string>>,
  { rootKey, nodeFlags = [], cores = "one", root = ownRoot }: ServeOptions = {},
): Promise<Served> => {
  // `bench:analytics` measures what recording costs: the engine would share the core of the service here.
  const settings = { PORT: "0", ADMIN_PORT: "0", LOG_LEVEL: "info", ANALYTICS: "off", ...env };
  const server = startServer([...nodeFlags, ...startArguments(root)], settings, { cores, root });
  const [, url = "", adminUrl = ""] = await server.waitFor(/"url":"([^"]+)","adminUrl":"([^"]+)"/);
  const key = rootKey ?? readFileSync(join(env.DATA_DIR ?? "", "root-key"), "utf8").trim();
  return {
    server,
    url,
    adminUrl,
    rootKey: key,
    call: async <T>(procedure: string, body: object): Promise<T> => {
      const response = await fetch(`${url}/v2/${procedure}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as { data: T };
      if (response.status !== 200) throw new Error(`${procedure}: ${JSON.stringify(answer)}`);
      return answer.data;
    },
  };
};

/** A service on an embedded store of its own, which is removed with it. */
export interface EmbeddedService extends Served {
  readonly dataDir: string;
  readonly stop: () => Promise<void>;
}

/** What the calls on an empty store are about. */
export interface BenchObjects {
  readonly apiId: string;
  /** A key with two permissions and one rate limit that applies by itself, without credits; verified once. */
  readonly key: string;
}

export type BenchService = EmbeddedService & BenchObjects;

export const createBenchObjects = async ({ call }: Served): Promise<BenchObjects> => {
  const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "bench" });
  const { key } = await call<{ key: string }>("keys.createKey", {
    apiId,
    permissions: ["documents.read", "documents.write"],
    ratelimits: [{ name: "requests", limit: 1_000_000_000, duration: 60_000, autoApply: true }],
  });
  const { code } = await call<{ code: string }>("keys.verifyKey", { key, permissions: "documents.read AND documents.write" });
  if (code !== "VALID") throw new Error(`the key of the benchmark is ${code}`);
  return { apiId, key };
};

/** Starts the service on an empty embedded store. @param nodeFlags flags of Node, such as those of the profiler. */
export const startBenchService = async (nodeFlags: readonly string[] = []): Promise<BenchService> => {
  const dataDir = mkdtempSync(join(tmpdir(), "latchkey-bench-data-"));
  const served = await serve({ DATA_DIR: dataDir }, { nodeFlags });
  return {
    ...served,
    ...(await createBenchObjects(served)),
    dataDir,
    stop: async () => {
      await served.server.stop();
      rmSync(dataDir, { recursive: true });
    },
  };
};

const base64 = (text: string): string => Buffer.from(text).toString("base64");

export const PERMISSIONS = "documents.read AND documents.write";
/** More than any load here spends. */
export const PLENTY = 1_000_000_000;
/** The number in the texts of targets that vary it, as many digits as `keyOf` writes. */
const DIGITS = "999999999999999999999999";

/** JSON calls on a running service. */
export const v2 =
  ({ server, url, rootKey }: Served) =>
  (target: Omit<Target, "yardstick" | "server" | "call">, procedure: string, body: object, below?: number): Target => ({
    ...target,
    yardstick: "http-echo",
    server,
    call: {
      url: `${url}/v2/${procedure}`,
      protocol: "http1",
      headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json", accept: "application/json" },
      body: base64(JSON.stringify(body)),
      ...(below === undefined ? {} : { vary: { digits: DIGITS, below } }),
    },
  });

const countCounterOperations =
  ({ adminUrl }: Served) =>
  async (): Promise<number> => {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    const counts = text.matchAll(/^latchkey_store_operations_total\{collection="counters".*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };

/** Where the service of a target keeps its counters. */
export type Engine = "embedded" | "MongoDB" | "Valkey";

/** Rate limits of a service. */
export const limitTargets = (served: Served, engine: Engine): Target[] => {
  const target = v2(served);
  const counterOperations = countCounterOperations(served);
  const check = (identifier: string, limit: number) => ({ namespace: "bench", identifier, limit, duration: 60_000 });
  return [
    target(
      { name: `limit-${engine}`, description: `/v2 ratelimit.limit, ${engine}: one identifier`, goal: 0.5, counterOperations },
      "ratelimit.limit",
      check("user_1", PLENTY),
    ),
    target(
      {
        name: `limits-${engine}`,
        description: `/v2 ratelimit.limit, ${engine}: ${IDENTIFIERS.toLocaleString("en")} identifiers`,
        goal: 0.4,
        // Where that takes less than the longest warm-up, most have been seen in their window: one that is new to it costs a write to the disk.
        warmUpCalls: 3 * IDENTIFIERS,
        counterOperations,
      },
      "ratelimit.limit",
      check(DIGITS, PLENTY),
      IDENTIFIERS,
    ),
    target(
      { name: `denied-${engine}`, description: `/v2 ratelimit.limit, ${engine}: a limit of 10, denied`, counterOperations },
      "ratelimit.limit",
      check("flood", 10),
    ),
    ...[1_000, 3_000].map((limit) =>
      target(
        {
          name: `saturated-${limit}-${engine}`,
          description: `/v2 ratelimit.limit, ${engine}: a limit of ${limit.toLocaleString("en")} a second, used up all the time`,
          counterOperations,
        },
        "ratelimit.limit",
        { ...check(`saturated_${limit}`, limit), duration: 1_000 },
      ),
    ),
  ];
};

/** What distinguishes the name and the description of a target on MongoDB from the same one on the embedded store. */
const marksOf = (engine: Engine): { readonly name: string; readonly description: string } =>
  engine === "embedded" ? { name: "", description: "" } : { name: `-${engine}`, description: `, ${engine}` };

/** Creates keys in an API. */
export const createTarget = (served: Served, apiId: string, engine: Engine): Target => {
  const marks = marksOf(engine);
  return v2(served)({ name: `create${marks.name}`, description: `/v2 keys.createKey${marks.description}`, goal: 0.08 }, "keys.createKey", {
    apiId,
    name: "customer",
  });
};

/** The calls of `/v2` on a running service with an empty store. */
export const serviceTargets = (service: Served & BenchObjects): Target[] => {
  const { apiId, key } = service;
  const target = v2(service);
  return [
    target({ name: "verify", description: "/v2 keys.verifyKey: warm, two permissions, one rate limit", goal: 0.5 }, "keys.verifyKey", {
      key,
      permissions: PERMISSIONS,
    }),
    ...limitTargets(service, "embedded"),
    createTarget(service, apiId, "embedded"),
  ];
};

/** Keys with credits: `keyOf(0)` and those that follow. */
export const CREDIT_KEYS = 1_000;

/** Spends credits of keys that exist. */
export const creditTargets = (served: Served, engine: Engine): Target[] => {
  const target = v2(served);
  const marks = marksOf(engine);
  const procedure = `/v2 keys.verifyKey${marks.description}`;
  return [
    target({ name: `credits-one${marks.name}`, description: `${procedure}: credits of one key`, goal: 0.3 }, "keys.verifyKey", {
      key: keyOf(0),
    }),
    target(
      { name: `credits-many${marks.name}`, description: `${procedure}: credits of ${CREDIT_KEYS.toLocaleString("en")} keys`, goal: 0.2 },
      "keys.verifyKey",
      { key: `bench_${DIGITS}` },
      CREDIT_KEYS,
    ),
  ];
};

/** The calls on a service with a large store, whose cache holds a tenth of its keys. */
export const populatedTargets = (served: EmbeddedService, keys: number): Target[] => {
  const target = v2(served);
  const count = keys.toLocaleString("en");
  return [
    ...creditTargets(served, "embedded"),
    target(
      {
        name: "uniform",
        description: `/v2 keys.verifyKey: any of ${count} keys, a tenth of them cached`,
        goal: 0.15,
        file: join(served.dataDir, "latchkey.sqlite"),
      },
      "keys.verifyKey",
      { key: `other_${DIGITS}` },
      keys,
    ),
  ];
};

/** A large store, and a service on it. */
export const startPopulatedService = async (keys: number, nodeFlags: readonly string[] = []): Promise<EmbeddedService> => {
  const place = createPlace(undefined);
  const { rootKey } = await place.withStore(async (store) => {
    const population = await populate(store, { keys, roles: 0, permissions: 2, prefix: "other" });
    await populate(store, { keys: CREDIT_KEYS, roles: 0, permissions: 0, remaining: PLENTY });
    return population;
  });
  const served = await serve({ ...place.env, CACHE_MB: String(Math.max(16, Math.ceil(keys / 10 / 300))) }, { rootKey, nodeFlags });
  return {
    ...served,
    dataDir: place.env.DATA_DIR ?? "",
    stop: async () => {
      await served.server.stop();
      await place.remove();
    },
  };
};

interface StartOptions {
  /** As many, on all cores; one process on the server's core unless told. */
  readonly workers?: number | undefined;
  readonly nodeFlags?: readonly string[] | undefined;
  /** The root of another checkout whose service it is. */
  readonly root?: string | undefined;
  /** Settings in addition to those of its place. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A service on a store of its own, which is removed with it. */
export interface PlacedService extends Served {
  /** The settings that name the store. */
  readonly env: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

/** A service on an empty store, the embedded one without a URL. */
export const startAt = async (
  mongodbUrl: string | undefined,
  { workers, nodeFlags, root, env = {} }: StartOptions = {},
): Promise<PlacedService> => {
  const place = createPlace(mongodbUrl);
  try {
    const rootKey = runCommand(["root-key", "create", "--name", "bench"], place.env, root);
    const served =
      workers === undefined
        ? await serve({ ...place.env, ...env }, { rootKey, nodeFlags, root })
        : await serve({ ...place.env, ...env, WORKERS: String(workers) }, { rootKey, cores: "all", root });
    return {
      ...served,
      env: place.env,
      stop: async () => {
        await served.server.stop();
        await place.remove();
      },
    };
  } catch (cause) {
    await place.remove();
    throw cause;
  }
};

/** A bare server that answers the same request as `like` by sending it back. */
export const startEcho = async (name: "http-echo" | "http2-echo", description: string, like: Target): Promise<Target> => {
  const server = startServer([join(import.meta.dirname, "servers", name === "http-echo" ? "httpEcho.ts" : "http2Echo.ts")]);
  const [port = ""] = await server.waitFor(/^\d+$/m);
  const { pathname } = new URL(like.call.url);
  const call = { ...like.call, url: `http://127.0.0.1:${port}${pathname}` };
  return { name, description, yardstick: name, warmUpSeconds: like.warmUpSeconds, server, call };
};
