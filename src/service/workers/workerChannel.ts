import cluster from "node:cluster";
import { recordProfile } from "../../operations/admin/recordProfile.ts";
import type { WorkerParts } from "../serviceOverrides.ts";
import type { ToPrimary, ToWorker, WorkerStart } from "./messages.ts";

/** A worker's end of what it has to do with its service: the primary stops it, asks for its metrics and connects it with its siblings. */
export interface WorkerChannel extends WorkerParts {
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

  const recordings = new Map<number, AbortController>();
  on("record", async ({ recording, kind, seconds }) => {
    const dropped = new AbortController();
    recordings.set(recording, dropped);
    const profile = await recordProfile(kind, seconds, dropped.signal).catch(() => undefined);
    recordings.delete(recording);
    void send({ type: "recorded", recording, profile });
  });
  on("dropRecording", ({ recording }) => recordings.get(recording)?.abort());

  return {
    siblings: {
      tell: (ids) => {
        if (ids.length > 0) void send({ type: "told", ids });
      },
      onTold: (listener) => on("told", ({ ids }) => listener(ids)),
    },
    openAdmin: async ({ metrics }) => {
      const sendPage = async (): Promise<void> => send({ type: "page", text: await metrics.render() });
      on("page", () => void sendPage());
      // The last of what it counted.
      return { url: "", stop: sendPage };
    },
    started: (start) => send({ type: "started", start }),
    complain: (line) => send({ type: "complaint", line }),
    untilStopped: stop.promise,
    onReload: (listener) => on("reload", listener),
  };
};
