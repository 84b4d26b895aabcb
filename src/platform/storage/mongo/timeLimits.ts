/** How long what is asked of MongoDB may take, in milliseconds. */
export interface TimeLimits {
  /** One operation, at the server: reading a page, writing a batch. */
  readonly operation: number;
  /** Until a majority of the servers has a write. */
  readonly acknowledgement: number;
  /** Silence on a connection, after which the driver takes it for broken. Above `operation`. */
  readonly silence: number;
  /** Reaching a server, and each of the driver's looks at one: a look that takes longer ends all that runs on its connections. */
  readonly reach: number;
  /** An operation that the driver itself never settles. Far above its own timeouts. */
  readonly neverSettled: number;
  /** Building the indexes of one collection over what is already stored. */
  readonly index: number;
}

/** For whom a store is opened: a service and what is like one, or a data command. */
export type TimeLimitsFor = "service" | "data";

/**
 * Behind a service somebody waits for an answer, who is told instead that the store is away. A data command has nobody who waits: it moves
 * millions of documents through a server that is busy with them, and a limit that ends it has cost an hour.
 */
export const timeLimits: Readonly<Record<TimeLimitsFor, TimeLimits>> = {
  service: { operation: 2_500, acknowledgement: 2_500, silence: 3_500, reach: 2_000, neverSettled: 20_000, index: 600_000 },
  data: { operation: 120_000, acknowledgement: 60_000, silence: 130_000, reach: 30_000, neverSettled: 600_000, index: 7_200_000 },
};
