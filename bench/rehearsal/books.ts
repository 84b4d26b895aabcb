import type { Store } from "../../src/platform/storage/port/store.ts";
import type { ForwardedCall } from "./startNginx.ts";
import type { CallRecord } from "./steadyLoad.ts";
import { CREDITS, type Subjects } from "./work.ts";

/** What was found, for people, and what of it must not be. */
export interface Findings {
  readonly lines: readonly string[];
  readonly problems: readonly string[];
}

const counted = (calls: readonly CallRecord[], kind: CallRecord["kind"]): { done: number; failed: number } => {
  const failed = calls.filter((call) => call.kind === kind && call.failure !== undefined).length;
  return { done: calls.filter((call) => call.kind === kind).length - failed, failed };
};

/**
 * Compares what is stored with what clients were answered: a call that failed was executed once or not at all, every other
 * one exactly once.
 */
export const compareBooks = async (store: Store, { apiId, charged }: Subjects, calls: readonly CallRecord[]): Promise<Findings> => {
  const problems: string[] = [];
  const keys = store.collection("keys");
  const charges = counted(calls, "charge");
  const balances = await keys.find({ _id: { $in: charged.map(({ keyId }) => keyId) } }).toArray();
  const spent = balances.reduce((sum, { remaining = Number.NaN }) => sum + CREDITS - remaining, 0);
  if (!(spent >= charges.done && spent <= charges.done + charges.failed))
    problems.push(`${spent} credits were spent by ${charges.done} calls`);
  const names = new Map<string, number>();
  for (const { name = "" } of await keys.find({ apiId }).toArray()) names.set(name, (names.get(name) ?? 0) + 1);
  const creations = calls.filter(({ kind }) => kind === "createKey");
  for (const { id, failure } of creations) {
    const made = names.get(id) ?? 0;
    if (made > 1 || (made === 0 && failure === undefined)) problems.push(`the call ${id} made ${made} keys`);
  }
  const created = counted(calls, "createKey");
  const made = creations.filter(({ id }) => names.has(id)).length;
  return {
    lines: [
      `Credits: ${charges.done} charges answered and ${charges.failed} failed, ${spent} credits spent.`,
      `Keys: ${created.done} creations answered and ${created.failed} failed, ${made} keys made, each once.`,
    ],
    problems,
  };
};

/** A call that was tried on several nodes must have been sent to the last one only. */
export const checkForwarding = (forwarded: readonly ForwardedCall[]): Findings => {
  const retried = forwarded.filter(({ nodes }) => nodes.length > 1);
  const repeated = retried.filter(({ sent }) => sent.slice(0, -1).some((bytes) => bytes > 0));
  return {
    lines: [
      `Proxy: ${forwarded.length} calls forwarded, ${retried.length} of them to another node after a refused connection, ${repeated.length} sent twice.`,
    ],
    problems: repeated.map(({ id, nodes }) => `the proxy sent the call ${id} to ${nodes.join(" and ")}`),
  };
};
