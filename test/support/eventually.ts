import { vi } from "vitest";

/** Waits until `look` no longer throws, at most 90 s for the slowest machine. Resolves to its value. */
export const eventually = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 90_000, interval: 20 });
