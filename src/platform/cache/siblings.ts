/** The other workers of the same service: each is notified of a change sooner than by the announcement in the store, which correctness rests on. */
export interface Siblings {
  /** What this node has written. */
  readonly tell: (ids: readonly string[]) => void;
  /** Called with what a sibling has written, a moment after it did. */
  readonly onTold: (listener: (ids: readonly string[]) => void) => void;
}
