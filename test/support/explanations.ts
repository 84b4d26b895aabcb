import { expect } from "vitest";
import type { Run } from "./everywhere.ts";

/** A step of keys.explain. */
export interface ExplainedStep {
  readonly check: string;
  readonly outcome: string;
  readonly detail: string;
  readonly facts: Record<string, unknown>;
}

/** The data of an answer of keys.explain. */
export interface Explanation {
  readonly code: string;
  readonly valid: boolean;
  readonly at: number;
  readonly steps: readonly ExplainedStep[];
  readonly suggestions: readonly { text: string; updateKey?: object; updateApi?: { apiId: string; ipAllowlist: string[] }; at?: number }[];
}

export const stepOf = ({ steps }: Explanation, check: string): ExplainedStep =>
  steps.find((step) => step.check === check) ?? expect.unreachable();

export const explainerOf =
  (run: Run): ((body: object) => Promise<Explanation>) =>
  async (body) =>
    (await run.data("keys.explain", body)) as unknown as Explanation;

/** The counters of a key: those of others change by themselves when budget goes back. */
export const countersOf = async ({ api }: Run, keyId: string): Promise<{ readonly current: number }[]> =>
  (await api.store.collection("counters").find({}).toArray()).filter(({ _id }) => _id.includes(keyId));
