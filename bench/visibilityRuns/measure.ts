import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/platform/base/clock.ts";
import { runLatchkeyHere } from "../harness/commandLine.ts";
import { createRootKeyOn } from "../harness/placed.ts";
import { v2Edge } from "../harness/v2Edge.ts";
import type { CallNode, Kind, Writer } from "./kinds.ts";
import { startNode } from "./startNode.ts";

/** By then every node has heard of what was made for a change, so that only the change itself can void what it knows. */
const SETTLED_MS = 1_500;
/** Twice the bound of the contract: what takes longer is measured no further. */
const GIVE_UP_MS = 60_000;

/** A node that is asked again and again. */
interface Observer {
  readonly call: CallNode;
  /** Milliseconds between two calls. */
  readonly pause: number;
}

/** Processes on one MongoDB database. */
export interface Cluster extends AsyncDisposable {
  readonly writer: Writer;
  /** Hears of changes by the feed. */
  readonly hearing: Observer;
  /** Does not: what it knows runs out by itself. */
  readonly deaf: Observer;
}

/**
 * @param mongodbUrl of an empty database, which stays.
 * @param pauses milliseconds between two calls of each observer: how exact what is measured can be.
 */
export const startCluster = async (mongodbUrl: string, pauses = { hearing: 10, deaf: 100 }): Promise<Cluster> => {
  const env = { MONGODB_URL: mongodbUrl };
  const rootKey = await createRootKeyOn(env);
  const [first, second, third] = await Promise.all([startNode(env), startNode(env), startNode(env, "ears")]);
  const callOf = (url: string): CallNode => {
    const edge = v2Edge(url);
    return async (procedure, body, caller = rootKey) => {
      const answer = await edge.call(procedure, body, caller);
      return { status: answer.status, data: (answer.body.data ?? {}) as Readonly<Record<string, unknown>> };
    };
  };
  const call = callOf(first.url);
  return {
    writer: {
      call: async (procedure, body) => {
        const { status, data } = await call(procedure, body);
        if (status !== 200) throw new Error(`${procedure} answered ${status}`);
        return data;
      },
      command: async (...args) => {
        const { code, stderr } = await runLatchkeyHere(args, env);
        if (code !== 0) throw new Error(stderr);
      },
    },
    hearing: { call: callOf(second.url), pause: pauses.hearing },
    deaf: { call: callOf(third.url), pause: pauses.deaf },
    [Symbol.asyncDispose]: async () => {
      for (const node of [first, second, third]) node.kill("SIGTERM");
      await Promise.all([first.exited, second.exited, third.exited]);
    },
  };
};

/**
 * Makes one change of a kind, once the observers know what was before it, and waits until each answers by it.
 * @returns for each observer the time from the acknowledgement of the change to the call that was answered by it, in milliseconds
 */
export const measure = async (kind: Kind, writer: Writer, observers: readonly Observer[]): Promise<number[]> => {
  const { change, seen } = await kind.prepare(writer);
  await sleep(SETTLED_MS);
  for (const { call } of observers) {
    if (await seen(call)) throw new Error(`${kind.name}: seen before it was made`);
  }
  await change();
  const acknowledged = systemClock.monotonic();
  return Promise.all(
    observers.map(async ({ call, pause }) => {
      for (;;) {
        const asked = systemClock.monotonic() - acknowledged;
        if (await seen(call)) return asked;
        if (asked > GIVE_UP_MS) throw new Error(`${kind.name}: not seen within ${GIVE_UP_MS} ms`);
        await sleep(pause);
      }
    }),
  );
};
