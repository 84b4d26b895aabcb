import { vi } from "vitest";

/** Waits until `look` no longer throws, as long as any machine may take; resolves to what it returned. */
export const eventually = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 90_000, interval: 20 });
