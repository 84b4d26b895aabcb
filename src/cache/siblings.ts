/** The nodes that are other workers of the same service, which hear of a change sooner than through the store. */
export interface Siblings {
  /** What this node has written. */
  readonly tell: (ids: readonly string[]) => void;
  /** What this node is about to write: no sibling misses it that is there when it is written, whatever becomes of this node. Where their store does not announce it. */
  readonly announce: (ids: readonly string[]) => void;
  readonly onAnnounced: (listener: (ids: readonly string[]) => void) => void;
  /** Called with what a sibling has written, a moment after it did. */
  readonly onTold: (listener: (ids: readonly string[]) => void) => void;
}
