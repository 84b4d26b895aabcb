import type { ProfileAnswersOptions } from "../../operations/admin/profileAnswers.ts";
import type { ToPrimary, ToWorker } from "./messages.ts";

/** Has workers record profiles of themselves. */
export interface WorkerRecorder {
  /** Rejects when the worker does not serve, ends meanwhile or fails, and with the reason of the signal. */
  readonly record: ProfileAnswersOptions["record"];
  /** A worker has answered. */
  readonly take: (message: ToPrimary & { readonly type: "recorded" }) => void;
  /** A worker has ended. */
  readonly retire: (worker: number) => void;
}

/** @param send false when the worker does not serve. */
export const createWorkerRecorder = (send: (worker: number, message: ToWorker) => boolean): WorkerRecorder => {
  let latest = 0;
  const waiting = new Map<number, PromiseWithResolvers<string> & { readonly worker: number }>();
  return {
    record: async (kind, seconds, signal, worker = 1) => {
      const recording = ++latest;
      const done = { ...Promise.withResolvers<string>(), worker };
      const drop = (): void => {
        send(worker, { type: "dropRecording", recording });
        done.reject(signal.reason);
      };
      if (!send(worker, { type: "record", recording, kind, seconds })) throw new Error(`worker ${worker} does not serve`);
      waiting.set(recording, done);
      signal.addEventListener("abort", drop);
      try {
        return await done.promise;
      } finally {
        signal.removeEventListener("abort", drop);
        waiting.delete(recording);
      }
    },
    take: ({ recording, profile }) => {
      if (profile === undefined) waiting.get(recording)?.reject(new Error("the worker could not record it"));
      else waiting.get(recording)?.resolve(profile);
    },
    retire: (ended) => {
      for (const { worker, reject } of waiting.values()) if (worker === ended) reject(new Error(`worker ${worker} has ended`));
    },
  };
};
