/** So often a worker is asked for a sign of life, and so many questions in a row may stay without one. Milliseconds. */
export const ASK_EVERY_MS = 10_000;
const UNANSWERED = 3;

/** Finds workers that hang: one process that does so fails its liveness probe, but these have a primary that answers for them. */
export interface SilenceWatch {
  /** Asks every worker that serves, after it has named those that did not answer. Called every `ASK_EVERY_MS`. */
  readonly round: (serving: readonly number[]) => void;
  /** The worker gave a sign of life, or ended. */
  readonly heard: (worker: number) => void;
}

/**
 * @param ask asks one for a sign of life.
 * @param onSilent told of each that has not answered for three rounds, and is not asked then.
 */
export const createSilenceWatch = (ask: (worker: number) => void, onSilent: (worker: number) => void): SilenceWatch => {
  /** Rounds without an answer: not time, of which much may pass while nothing here runs. */
  const unanswered = new Map<number, number>();
  return {
    round: (serving) => {
      for (const worker of serving) {
        const rounds = unanswered.get(worker) ?? 0;
        if (rounds >= UNANSWERED) onSilent(worker);
        else {
          unanswered.set(worker, rounds + 1);
          ask(worker);
        }
      }
    },
    heard: (worker) => void unanswered.delete(worker),
  };
};
