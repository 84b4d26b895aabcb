/** What an attacker aims at. */
export interface AttackTarget {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Holds every permission. */
  readonly rootKey: string;
  /** Exists, and may do nothing of what the attacks ask for. */
  readonly useless: string;
}

/** What one attack needs while it runs. */
export interface Attacker {
  readonly target: AttackTarget;
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /** Counts an answer by its status, or what else came of a call. */
  readonly count: (outcome: string | number) => void;
}

/** Something that one caller does to the others. */
export interface Attack {
  /** For `--only`. */
  readonly name: string;
  readonly description: string;
  /** Goes on until the signal is aborted; what it opened may stay open, its process ends then. */
  readonly run: (attacker: Attacker) => Promise<void>;
}

/** Does the same again and again on so many lines at the same time; a failure counts, and waits a little. */
export const onLines = async (lines: number, { signal, count }: Attacker, step: (line: number) => Promise<void>): Promise<void> => {
  const line = async (_: unknown, number: number): Promise<void> => {
    while (!signal.aborted) {
      try {
        await step(number);
      } catch (error) {
        count(error instanceof Error && "code" in error ? String(error.code) : "failed");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  await Promise.all(Array.from({ length: lines }, line));
};
