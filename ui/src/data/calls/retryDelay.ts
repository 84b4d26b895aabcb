/** The longest pause between two attempts, in seconds. */
const longest = 10;

/**
 * Seconds before another attempt: twice as many after each one that failed, 10 at most, and never fewer than the service asks for.
 * @param failures attempts that failed so far, at least 1
 * @param retryAfter seconds, of the last failure
 */
export const retryDelay = (failures: number, retryAfter: number): number => Math.max(retryAfter, Math.min(longest, 2 ** (failures - 1)));
