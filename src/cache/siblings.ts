/** The nodes that are other workers of the same service, which hear of a change sooner than through the store. */
export interface Siblings {
  /** What this node has written. */
  readonly tell: (ids: readonly string[]) => void;
  /** Called with what a sibling has written, a moment after it did. */
  readonly onTold: (listener: (ids: readonly string[]) => void) => void;
}
