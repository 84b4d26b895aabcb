import cluster from "node:cluster";
import type { Siblings } from "../../cache/siblings.ts";
import type { AdminOptions, AdminServer } from "../../telemetry/adminServer.ts";
import type { ToPrimary, ToWorker, WorkerStart } from "./messages.ts";

/** A worker's end of what it has to do with its service: the primary stops it, asks for its metrics and connects it with its siblings. */
export interface WorkerChannel {
  readonly siblings: Siblings;
  /** In the place of an admin port of its own; it has no address. */
  readonly createAdmin: (options: Pick<AdminOptions, "metrics">) => AdminServer;
  readonly started: (start: WorkerStart) => Promise<void>;
  /** Says why the worker ends; resolves once the primary will get to know. */
  readonly complain: (line: string) => Promise<void>;
  /** Resolves when the primary wants it to end, with the reason. */
  readonly untilStopped: Promise<string>;
  readonly onReload: (listener: () => void) => void;
}

/** The channel of this process, undefined where it is nobody's worker. When the primary dies, the process ends. */
export const openWorkerChannel = (): WorkerChannel | undefined => {
  const { worker } = cluster;
  if (worker === undefined) return undefined;
  const on = <T extends ToWorker["type"]>(type: T, listener: (message: ToWorker & { readonly type: T }) => void): void => {
    worker.on("message", (message: ToWorker) => {
      if (message.type === type) listener(message as ToWorker & { readonly type: T });
    });
  };
  /** Resolves in any case: without a primary this process is about to end. */
  const send = (message: ToPrimary): Promise<void> =>
    new Promise((resolve) => {
      worker.send(message, undefined, () => resolve());
    });

  const stop = Promise.withResolvers<string>();
  on("stop", ({ reason }) => stop.resolve(reason));
  on("ping", () => void send({ type: "pong" }));
  void send({ type: "joined" });

  /** What was written in this turn of the event loop. */
  let untold: string[] = [];
  return {
    siblings: {
      tell: (ids) => {
        if (ids.length === 0) return;
        if (untold.length === 0) {
          setImmediate(() => {
            void send({ type: "told", ids: untold });
            untold = [];
          });
        }
        untold.push(...ids);
      },
      onTold: (listener) => on("told", ({ ids }) => listener(ids)),
    },
    createAdmin: ({ metrics }) => {
      const sendPage = async (): Promise<void> => send({ type: "page", text: await metrics.render() });
      return {
        start: async () => {
          on("page", () => void sendPage());
          return "";
        },
        // The last of what it counted.
        stop: sendPage,
      };
    },
    started: (start) => send({ type: "started", start }),
    complain: (line) => send({ type: "complaint", line }),
    untilStopped: stop.promise,
    onReload: (listener) => on("reload", listener),
  };
};
