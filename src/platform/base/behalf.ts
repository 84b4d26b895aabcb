/**
 * In what an answer may differ from what the store would say: `verification`, it rests on what this node remembers of keys,
 * root keys or other objects, and may lack changes; `ratelimits`, what is set for a store that is away decided a limit.
 */
export type Degraded = "verification" | "ratelimits";

/** For whom something is done. */
export interface Behalf {
  /** What the store is asked for waits in the line of its caller; without one, as of what runs in the background, in a line of its own. */
  readonly caller?: { readonly rootKeyId: string } | undefined;
  /** Hears that it is done with less than what the store knows. May be called more than once for the same. */
  readonly degrade?: (what: Degraded) => void;
}
