import type { StoredRatelimit } from "../storage/documents.ts";

/** A stored limit as it applies to one key, with the counter it counts on (verify §5). */
export interface EffectiveLimit extends StoredRatelimit {
  /** Counts for all keys of the identity together. */
  readonly ofIdentity: boolean;
  readonly counterKey: string;
}

/** Name of a limit's counter. Limits of a key and inline limits count per key, those of an identity per identity. */
export const limitCounterKey = (scope: "key" | "identity", subjectId: string, duration: number, name: string): string =>
  `${scope}:${subjectId}:${duration}:${name}`;
