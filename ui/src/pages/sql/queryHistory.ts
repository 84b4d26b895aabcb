import { type Signal, signal } from "@preact/signals";
import { forgetAfterSession } from "../../data/access/sessionState.ts";

/** A query that was run. */
export interface PastQuery {
  readonly query: string;
  /** Unix ms. */
  readonly at: number;
  /** Milliseconds that it took. */
  readonly took: number;
  /** "12 rows", "cancelled", or what was wrong with it. */
  readonly result: string;
}

/** How many are kept; the oldest go first. */
const kept = 50;

/** The queries of this session, newest first: in memory only, for a query may name whom it is about (console §2.9). */
export const queryHistory: Signal<readonly PastQuery[]> = signal<readonly PastQuery[]>([]);

/** Adds one. */
export const remember = (past: PastQuery): void => {
  queryHistory.value = [past, ...queryHistory.value].slice(0, kept);
};

forgetAfterSession(() => {
  queryHistory.value = [];
});
