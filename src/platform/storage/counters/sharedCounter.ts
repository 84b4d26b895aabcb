/** The shared state of one counter: `current` counts window `seq`, `previous` the one before it. */
export interface SharedCounter {
  readonly seq: number;
  readonly current: number;
  readonly previous: number;
}

/** Budget that a node asks of a shared counter. Amounts are tokens, times Unix milliseconds. */
export interface ChargeRequest {
  /** Length of a window, in milliseconds. */
  readonly duration: number;
  readonly limit: number;
  /** Least budget that the node must hold afterwards: without room for it nothing is granted. */
  readonly cost: number;
  /** What all waiting calls under this limit need: granted as far as there is room. */
  readonly need: number;
  /** What to hold if that is more than `need`: granted up to a twentieth of what is left. */
  readonly chunk: number;
  /** Time of the node. */
  readonly now: number;
  /** Unspent budget of the node, and its window. When that window is over, the charge gives the budget back. */
  readonly held: number;
  readonly heldSeq: number;
  /**
   * The counter as the node last saw it in the current window; null where the node never saw it. Undefined: the node does not
   * know. A hint that saves an engine the read before a conditional write.
   */
  readonly known: SharedCounter | null | undefined;
}

/** An engine's answer to a charge. */
export interface ChargeAnswer {
  /** The node holds at least the cost now. */
  readonly isGranted: boolean;
  /** Budget charged by this request. */
  readonly amount: number;
  /** The counter afterwards, rolled to the current window. */
  readonly counter: SharedCounter;
  /** The engine has the counter in that window. False: nobody has charged that window yet. */
  readonly isStored: boolean;
}

/**
 * Gives budget of window `seq` back. Returns the same object when that window is neither the current nor the previous one. A
 * counter that lost its counts meanwhile stays at zero: below, it would admit more than the limit.
 */
export const refunded = (counter: SharedCounter, seq: number, amount: number): SharedCounter => {
  if (counter.seq === seq) return { ...counter, current: Math.max(0, counter.current - amount) };
  if (counter.seq === seq + 1) return { ...counter, previous: Math.max(0, counter.previous - amount) };
  return counter;
};

/** The most budget that may be held ahead of a counter that has `left` left: a node that dies takes it along (DESIGN §7). */
export const mostAhead = (left: number): number => Math.max(1, Math.floor(left / 20));
