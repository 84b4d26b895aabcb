import { setTimeout as sleep } from "node:timers/promises";
import type { MongoServer } from "./mongoServer.ts";
import type { RehearsedNode } from "./startNodes.ts";
import type { Prometheus } from "./startPrometheus.ts";
import type { CallRecord } from "./steadyLoad.ts";
import type { Step } from "./steps.ts";

/** What the rehearsal plays with. */
export interface Stage {
  readonly nodes: readonly RehearsedNode[];
  readonly prometheus: Prometheus;
  readonly server: MongoServer;
  /** Told of each step as it begins. */
  readonly onStep: (name: string) => void;
}

/** Longer than the proxy leaves a node alone that it could not reach. */
const SETTLED = 3_000;
/** How long the store is away before it is started again: warm verifications are answered for 30 s. */
const OUTAGE = 14_000;
/** A client may send calls for so long before it notices that the node at the other end of its connection is gone. */
const NOTICED = 250;

/** What fires when a node is gone. */
const nodeAlerts = ["LatchkeyNodeDown"];
/** What fires when a store is away, once a minute of the rules has gone by. */
const storeAlerts = ["LatchkeyStoreAway", "LatchkeyLimitsDegraded", "LatchkeyErrors", "LatchkeyChangesFeedLag"];

type Played = Partial<Pick<Step, "problems" | "mayFail">>;

const nothingFails = (): boolean => false;

const needsStore = ({ kind }: CallRecord): boolean => kind === "charge" || kind === "createKey";
const isRefusedWithoutStore = ({ failure }: CallRecord): boolean => /HTTP 503|unavailable/i.test(failure ?? "");

/** Plays all steps, one after the other, while somebody else makes calls. */
export const rehearse = async ({ nodes, prometheus, server, onStep }: Stage): Promise<readonly Step[]> => {
  const steps: Step[] = [];
  const play = async (name: string, act: (from: number) => Promise<Played>): Promise<void> => {
    onStep(name);
    const from = performance.now();
    const { problems = [], mayFail = nothingFails } = await act(from);
    steps.push({ name, from, to: performance.now(), problems, mayFail });
  };

  /** Resolves to what did not happen. */
  const expectAlerts = async (names: readonly string[], since: number): Promise<string[]> => {
    const outcomes = await Promise.allSettled(names.map((name) => prometheus.fired(name, since)));
    return outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [String(outcome.reason)] : []));
  };
  const expectCleared = (names: readonly string[]): Promise<string[]> =>
    prometheus.cleared(names).then(
      () => [],
      (error) => [String(error)],
    );

  const beSteady = (): Promise<Played> => sleep(SETTLED * 2, {});

  const roll = async (node: RehearsedNode): Promise<Played> => {
    const problems = await node.stop();
    await node.start();
    await sleep(SETTLED);
    return { problems };
  };

  const killNode = async (node: RehearsedNode, since: number): Promise<Played> => {
    const goneAt = await node.kill();
    const silent = await expectAlerts(nodeAlerts, since);
    await node.start();
    const problems = [...silent, ...(await expectCleared(nodeAlerts))];
    return { problems, mayFail: (call) => call.node === node.address && call.from <= goneAt + NOTICED };
  };

  const killStore = async (kill: () => Promise<void>, since: number): Promise<Played> => {
    await kill();
    await sleep(OUTAGE);
    await server.start();
    const problems = [...(await expectAlerts(storeAlerts, since)), ...(await expectCleared(storeAlerts))];
    return { problems, mayFail: (call) => needsStore(call) && isRefusedWithoutStore(call) };
  };

  await play("Steady load", beSteady);
  for (const [i, node] of nodes.entries()) await play(`Roll node ${i + 1}`, () => roll(node));
  const [, victim] = nodes;
  if (victim !== undefined) await play("Kill node 2", (since) => killNode(victim, since));
  const { kill } = server;
  if (kill !== undefined) await play("Kill the store", (since) => killStore(kill, since));
  await play("Steady load again", beSteady);
  return steps;
};
