import type { JsonObject } from "@bufbuild/protobuf";

/** An event, numbered in the order of arrival: nothing else in it is its own. */
export interface TailEvent {
  readonly number: number;
  readonly columns: JsonObject;
}

/** The events of a tail so far. */
export interface TailEvents {
  /** Latest first. */
  readonly shown: readonly TailEvent[];
  /** Those that came during a pause, latest first. */
  readonly held: readonly TailEvent[];
  /** Events that were lost on their way. */
  readonly dropped: bigint;
  /** Some events are missing: the time between two calls was too long. */
  readonly gap: boolean;
}

export const noEvents: TailEvents = { shown: [], held: [], dropped: 0n, gap: false };

/** Events that stay on the page, shown and held each. */
export const kept = 500;

/** Adds what arrived, ascending by time, to what is shown, or during a pause to what is held. */
export const withArrived = (before: TailEvents, arrived: readonly JsonObject[], dropped: bigint, paused: boolean): TailEvents => {
  const next = Math.max(before.shown[0]?.number ?? 0, before.held[0]?.number ?? 0) + 1;
  const events = arrived.map((columns, index) => ({ number: next + index, columns })).reverse();
  const held = [...events, ...before.held];
  return {
    ...before,
    dropped: before.dropped + dropped,
    ...(paused ? { held: held.slice(0, kept) } : { shown: [...held, ...before.shown].slice(0, kept), held: [] }),
  };
};
