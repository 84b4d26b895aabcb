/**
 * Runs the steps one after the other, each also when those before it failed. Rejects afterwards, with what failed: one
 * error as it is, several as an `AggregateError`.
 */
export const runAll = async (steps: readonly (() => Promise<void> | undefined)[]): Promise<void> => {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 1) throw new AggregateError(failures, "several things could not be released");
  if (failures.length === 1) throw failures[0];
};
