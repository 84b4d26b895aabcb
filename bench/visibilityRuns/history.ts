import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/platform/base/clock.ts";
import { dropMongoDatabase, freshMongoUrl } from "../harness/mongoDatabases.ts";
import { openMongoProxy } from "../harness/mongoProxy.ts";
import { createRootKeyOn } from "../harness/placed.ts";
import type { NetworkProxy } from "../harness/proxy.ts";
import { v2Edge } from "../harness/v2Edge.ts";
import { type NodeProcess, startNode } from "./startNode.ts";

const NODES = 3;
const KEYS_PER_ROUND = 24;
/** Calls that each observing node has at the same time. */
const AT_ONCE = 3;
/** The promise: what begins later than this after an acknowledgement knows, or says that it may not. */
const BOUND_MS = 1_000;
const WATCHED_FOR_MS = 2_500;
/** How long a cut connection stays cut: longer than the silence after which a node no longer trusts its memory. */
const CUT_FOR_MS = 2_500;
const GIVE_UP_MS = 60_000;

/** What goes wrong in a round, one after the other. */
const faults = ["writer killed", "observer cut off", "writer killed", "writer cut off", "none"] as const;
type Fault = (typeof faults)[number];

/** What a node answered about a key. */
type Verdict = "revoked" | "old" | "degraded" | "unavailable";

interface Asked {
  /** Monotonic, before it was sent. */
  readonly began: number;
  readonly verdict: Verdict;
}

/** What became of a number of revocations. */
export interface History {
  /** That were acknowledged: the others are nobody's promise. */
  revocations: number;
  kills: number;
  cuts: number;
  /** Calls after an acknowledgement, by what they were told. */
  readonly calls: Record<Verdict, number>;
  /** Milliseconds from an acknowledgement to the begin of the last call that was answered as if there were none, and did not say so. */
  longestLateness: number;
  /** Such calls that began later than the bound. */
  violations: number;
}

/** A node behind a stretch of network of its own. */
interface Place {
  readonly proxy: NetworkProxy;
  /** Starts a node, unless one runs. */
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  readonly node: () => NodeProcess;
  readonly call: (
    procedure: string,
    body: object,
  ) => Promise<{ readonly status: number; readonly data: Readonly<Record<string, unknown>>; readonly degraded: boolean }>;
}

const openPlace = async (direct: string, rootKey: string, guarded: boolean): Promise<Place> => {
  const { url, network: proxy } = await openMongoProxy(direct);
  let node: NodeProcess | undefined;
  const running = (): NodeProcess => {
    if (node === undefined) throw new Error("the node was not started");
    return node;
  };
  return {
    proxy,
    node: running,
    kill: async () => {
      node?.kill("SIGKILL");
      await node?.exited;
      node = undefined;
    },
    start: async () => {
      node ??= await startNode({ MONGODB_URL: url, LOG_LEVEL: "info" }, guarded ? undefined : "guard");
    },
    call: async (procedure, body) => {
      const { status, body: answer } = await v2Edge(running().url).call(procedure, body, rootKey);
      return { status, data: (answer.data ?? {}) as Readonly<Record<string, unknown>>, degraded: answer.meta.degraded !== undefined };
    },
  };
};

interface Key {
  readonly keyId: string;
  readonly key: string;
  readonly asked: Asked[];
  /** Monotonic time at which its revocation was acknowledged. */
  acknowledged: number | undefined;
}

const makeKeys = async ({ call }: Place): Promise<Key[]> => {
  const { apiId } = (await call("apis.createApi", { name: "history" })).data;
  return Promise.all(
    Array.from({ length: KEYS_PER_ROUND }, async () => {
      const { keyId, key } = (await call("keys.createKey", { apiId })).data as { keyId: string; key: string };
      return { keyId, key, asked: [], acknowledged: undefined };
    }),
  );
};

const ask = async ({ call }: Place, { key }: Key): Promise<Asked> => {
  const began = systemClock.monotonic();
  const answer = await call("keys.verifyKey", { key }).catch(() => undefined);
  if (answer?.status !== 200) return { began, verdict: "unavailable" };
  if (answer.data.valid !== true) return { began, verdict: "revoked" };
  return { began, verdict: answer.degraded ? "degraded" : "old" };
};

/** Asks one node about all keys, again and again, until told to end. */
const watch = (place: Place, keys: readonly Key[], pause: number): (() => Promise<void>) => {
  let isOver = false;
  let next = 0;
  const loops = Array.from({ length: AT_ONCE }, async () => {
    while (!isOver) {
      const key = keys[next++ % keys.length] as Key;
      key.asked.push(await ask(place, key));
      await sleep(pause);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(loops);
  };
};

const revoke = async ({ call }: Place, key: Key, onAcknowledged: () => void): Promise<void> => {
  const answer = await call("keys.updateKey", { keyId: key.keyId, enabled: false }).catch(() => undefined);
  if (answer?.status !== 200) return;
  key.acknowledged = systemClock.monotonic();
  onAcknowledged();
};

const judge = (keys: readonly Key[], history: History): void => {
  for (const { acknowledged, asked } of keys) {
    if (acknowledged === undefined) continue;
    history.revocations++;
    for (const { began, verdict } of asked) {
      const lateness = began - acknowledged;
      if (lateness <= 0) continue;
      history.calls[verdict]++;
      if (verdict !== "old") continue;
      history.longestLateness = Math.max(history.longestLateness, lateness);
      if (lateness > BOUND_MS) history.violations++;
    }
  }
};

/** Revokes the keys of one round by one node, with a fault, while the others are asked about them. */
const runRound = async (
  writer: Place,
  observers: readonly Place[],
  { fault, after, pause }: { readonly fault: Fault; readonly after: number; readonly pause: number },
  history: History,
): Promise<void> => {
  const keys = await makeKeys(writer);
  for (const observer of observers) {
    const known = await Promise.all(keys.map((key) => ask(observer, key)));
    if (known.some(({ verdict }) => verdict !== "old")) throw new Error("a key that was just made does not verify");
  }
  const ends = observers.map((observer) => watch(observer, keys, pause));
  const [cutOff] = observers;
  if (fault === "observer cut off") cutOff?.proxy.cut();
  let acknowledged = 0;
  // At one of the acknowledgements, each time another one: all before it are promises, what comes after it is open.
  const strike = (): void => {
    if (++acknowledged !== after) return;
    if (fault === "writer killed") writer.node().kill("SIGKILL");
    if (fault === "writer cut off") writer.proxy.cut();
  };
  await Promise.all(keys.map((key) => revoke(writer, key, strike)));
  if (fault.endsWith("cut off")) await sleep(CUT_FOR_MS);
  for (const { proxy } of [writer, ...observers]) proxy.resume();
  await sleep(WATCHED_FOR_MS);
  await Promise.all(ends.map((end) => end()));
  judge(keys, history);
  if (fault === "writer killed") {
    history.kills++;
    await writer.kill();
  } else if (fault !== "none") history.cuts++;
};

/** Waits until every node answers from the store again. */
const recover = async (places: readonly Place[]): Promise<void> => {
  const until = systemClock.monotonic() + GIVE_UP_MS;
  for (const { call } of places) {
    while ((await call("apis.createApi", { name: "recovered" })).status !== 200) {
      if (systemClock.monotonic() > until) throw new Error("a node did not find its store again");
      await sleep(100);
    }
  }
};

/**
 * Three nodes on one MongoDB database, of which one revokes keys and dies, or loses its connection, in that instant, and
 * the others are asked about them all the time.
 *
 * @param guarded nodes as they are; false: announcements come from memory after the acknowledgement, and silence is not noticed,
 * so that violations are to be found.
 * @param pause milliseconds between two questions of one of those who ask; a node is asked about the same key after eight of them.
 */
export const writeHistory = async (
  server: string,
  revocations: number,
  { guarded = true, pause = 5 }: { readonly guarded?: boolean; readonly pause?: number } = {},
  onRound?: (history: History) => void,
): Promise<History> => {
  const direct = freshMongoUrl(server);
  const calls = { revoked: 0, old: 0, degraded: 0, unavailable: 0 };
  const history: History = { revocations: 0, kills: 0, cuts: 0, calls, longestLateness: 0, violations: 0 };
  const places: Place[] = [];
  try {
    const rootKey = await createRootKeyOn({ MONGODB_URL: direct });
    for (let i = 0; i < NODES; i++) places.push(await openPlace(direct, rootKey, guarded));
    for (let round = 0; history.revocations < revocations; round++) {
      await Promise.all(places.map((place) => place.start()));
      await recover(places);
      const writer = places[round % NODES] as Place;
      const others = [1, 2].map((step) => places[(round + step) % NODES] as Place);
      const fault = faults[round % faults.length] as Fault;
      await runRound(writer, others, { fault, after: 1 + ((7 * round) % KEYS_PER_ROUND), pause }, history);
      onRound?.(history);
    }
    return history;
  } finally {
    await Promise.all(places.map(({ kill }) => kill()));
    await Promise.all(places.map(({ proxy }) => proxy.close()));
    await dropMongoDatabase(direct);
  }
};
