import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Analytics,
  type AnalyticsObserver,
  type AnalyticsOptions,
  createAnalytics,
} from "../../src/features/analytics/createAnalytics.ts";
import { createEngineProcess, type EngineProcess } from "../../src/features/analytics/embedded/engineProcess.ts";
import type { RatelimitEvent, VerificationEvent } from "../../src/features/analytics/events.ts";
import type { Limiter } from "../../src/features/ratelimit/limiter.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { TestEnvironment } from "../support/api.ts";

const MEMORY = 512 * 1024 ** 2;

/** Somewhere to keep events: the embedded engine, or the same engine as a server on a loopback port. */
export interface Place {
  /** Settings of a service that keeps its events here. */
  readonly env: TestEnvironment;
  readonly options: Pick<AnalyticsOptions, "clickhouseUrl" | "directory" | "memory">;
  /** The process of the server. */
  readonly engine: EngineProcess | undefined;
  readonly close: () => Promise<void>;
}

interface Way {
  readonly name: string;
  readonly open: () => Promise<Place>;
}

const newDirectory = (): string => mkdtempSync(join(tmpdir(), "latchkey-analytics-"));
const remove = (directory: string): void => rmSync(directory, { recursive: true, force: true });

export const embedded: Way = {
  name: "the embedded engine",
  open: async () => {
    const dataDir = newDirectory();
    return {
      env: { ANALYTICS: "embedded", ANALYTICS_MEMORY: "512MiB", DATA_DIR: dataDir },
      options: { clickhouseUrl: undefined, directory: join(dataDir, "analytics"), memory: MEMORY },
      engine: undefined,
      close: async () => remove(dataDir),
    };
  },
};

export const server: Way = {
  name: "a server",
  open: async () => {
    const directory = newDirectory();
    const engine = createEngineProcess({ directory, memory: MEMORY, port: 0 });
    const url = `http://127.0.0.1:${await engine.running()}`;
    return {
      env: { ANALYTICS: undefined, CLICKHOUSE_URL: url },
      options: { clickhouseUrl: url, directory, memory: MEMORY },
      engine,
      close: async () => {
        await engine.stop();
        remove(directory);
      },
    };
  },
};

/**
 * The ways on which suites of the contract run. Where the state is kept makes no difference to them, so of the two runs
 * of the whole suite (see test/README.md) one takes the embedded engine, the other the server.
 */
export const ways: readonly Way[] = process.env.MONGODB_URL ? [server] : [embedded];

/** Lets everything pass. */
const noLimits: Limiter = {
  clock: systemClock,
  check: (checks) => ({
    passed: true,
    results: checks.map(({ limit }) => ({ passed: true, remaining: limit, reset: 0 })),
    storeAway: false,
  }),
  peek: async () => [],
  held: () => undefined,
  readBoth: async () => ({ shared: null, seq: -1, held: 0, reserved: 0 }),
  keyPrefix: () => "",
  start: () => undefined,
  stop: async () => undefined,
  size: () => 0,
  reclaimIdle: async () => undefined,
};

const silent = (): undefined => undefined;

/** Hears nothing. */
export const observer: AnalyticsObserver = {
  ...{
    written: silent,
    dropped: silent,
    buffered: silent,
    state: silent,
    engineDied: silent,
    isolationLeaks: silent,
    dropsReported: silent,
  },
};

/** Analytics without a service around it. */
export const openAnalytics = ({ options }: Pick<Place, "options">, overrides: Partial<AnalyticsOptions> = {}): Analytics =>
  createAnalytics({
    clock: systemClock,
    commonClock: systemClock,
    limiter: noLimits,
    observer,
    workspaceId: WORKSPACE_ID,
    cluster: undefined,
    retentionDays: 30,
    limits: { querySeconds: 10, rowsRead: 1_000_000_000, queriesPerHour: 1_000_000, secondsPerHour: 1_000_000 },
    expire: true,
    ...options,
    ...overrides,
  });

export interface Seed {
  readonly verifications?: readonly Partial<VerificationEvent>[];
  readonly ratelimits?: readonly Partial<RatelimitEvent>[];
}

/** Writes events that no call made, such as old ones. */
export const seed = async (place: Place, { verifications = [], ratelimits = [] }: Seed): Promise<void> => {
  const { promise: allWritten, resolve } = Promise.withResolvers<void>();
  let missing = verifications.length + ratelimits.length;
  const written = (_: string, rows: number): void => {
    missing -= rows;
    if (missing === 0) resolve();
  };
  const analytics = openAnalytics(place, { observer: { ...observer, written } });
  analytics.start();
  const time = Date.now();
  const verification = { requestId: "req_seed", time, apiId: "api_1", keyId: "key_1", identityId: "", externalId: "" };
  for (const event of verifications) {
    analytics.recordVerification({ ...verification, outcome: "VALID", tags: [], spentCredits: 0, latency: 1, ...event });
  }
  const check = { requestId: "req_seed", time, namespaceId: "rlns_1", identifier: "user_1", passed: true, latency: 1 };
  for (const event of ratelimits) {
    analytics.recordRatelimit({ ...check, overrideId: "", limit: 10, remaining: 9, resetAt: time + 1_000, tokens: 1, ...event });
  }
  await allWritten;
  await analytics.stop();
};
