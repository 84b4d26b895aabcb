import type { RehearsalClient } from "./clients.ts";
import { createWork, isDone, type Kind, type Subjects } from "./work.ts";

/** Calls a second of each client. */
const rates: Readonly<Record<Kind, number>> = { verify: 8, limit: 4, charge: 3, createKey: 1 };
/** Beyond so many at the same time no call is begun: a service that hangs is not flooded. */
const MAX_OPEN = 400;

/** One call, in milliseconds of `performance.now()`. */
export interface CallRecord {
  readonly id: string;
  readonly client: string;
  readonly kind: Kind;
  readonly from: number;
  /** Undefined while it is open. */
  to: number | undefined;
  /** What went wrong; undefined while it is open, and when it was done. */
  failure: string | undefined;
  /** `host:port` to which it went last: a node, or the proxy. */
  node: string | undefined;
  /** How often it was sent again, having been refused before it had begun. */
  again: number;
}

export interface SteadyLoad {
  /** Every call so far, by its begin. */
  readonly calls: readonly CallRecord[];
  /** Begins no more calls; resolves once all have ended. */
  readonly stop: () => Promise<void>;
}

/** Calls at a steady rate, however long answers take. */
export const startLoad = (clients: readonly RehearsalClient[], subjects: Subjects): SteadyLoad => {
  const calls: CallRecord[] = [];
  const open = new Set<Promise<void>>();

  const begin = (client: RehearsalClient, kind: Kind): void => {
    if (open.size >= MAX_OPEN) return;
    const record: CallRecord = {
      id: `${client.name}-${kind}-${calls.length}`,
      client: client.name,
      kind,
      from: performance.now(),
      to: undefined,
      failure: undefined,
      node: undefined,
      again: 0,
    };
    calls.push(record);
    const ended = client
      .call(createWork(kind, record.id, subjects), {
        id: record.id,
        onNode: (node) => {
          record.node = node;
        },
        onAgain: () => record.again++,
      })
      .then(
        (data) => (isDone(kind, data) ? undefined : `said no: ${JSON.stringify(data)}`),
        (error) => String(error),
      )
      .then((failure) => {
        record.to = performance.now();
        record.failure = failure;
        open.delete(ended);
      });
    open.add(ended);
  };

  const timers = clients.flatMap((client) =>
    Object.entries(rates).map(([kind, rate]) => setInterval(() => begin(client, kind as Kind), 1_000 / rate)),
  );
  return {
    calls,
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(open);
    },
  };
};
