import { StoreUnavailableError } from "../../port/errors.ts";
import { receiveError } from "./carriedErrors.ts";
import type { OwnerOperations, OwnerReply, ToOwner } from "./ownerMessages.ts";

type Call = <N extends keyof OwnerOperations>(
  name: N,
  args: Parameters<OwnerOperations[N]>,
  /** Rejects with its reason when it is aborted before the owner has begun. */
  signal?: AbortSignal,
) => ReturnType<OwnerOperations[N]>;

/** How a process asks the one that has the store open. */
export interface OwnerLink {
  readonly call: Call;
  readonly take: (replies: readonly OwnerReply[]) => void;
  /** Takes no more calls, and resolves when those that there are have ended. */
  readonly close: () => Promise<void>;
}

interface Waiting {
  /** It ends when somebody does something, so nothing waits for its end. */
  readonly isEndless: boolean;
  readonly resolve: (result: never) => void;
  readonly reject: (reason: unknown) => void;
  readonly signal: AbortSignal | undefined;
  readonly abort: () => void;
  readonly parts: unknown[];
}

/** @param send must keep the order. What is never answered, since the owner has died, is not settled either: this process ends with it. */
export const createOwnerLink = (send: (message: ToOwner) => void): OwnerLink => {
  const waiting = new Map<number, Waiting>();
  let latest = 0;
  let closing: PromiseWithResolvers<void> | undefined;
  const isBusy = (): boolean => waiting.values().some(({ isEndless }) => !isEndless);

  const call: Call = (name, args, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (closing !== undefined) throw new StoreUnavailableError("the embedded store is closed");
      const number = ++latest;
      const abort = (): void => send({ type: "abort", call: number });
      waiting.set(number, { isEndless: name === "progress", resolve, reject, signal, abort, parts: [] });
      signal?.addEventListener("abort", abort);
      send({ type: "call", call: number, name, args });
    }) as ReturnType<OwnerOperations[typeof name]>;

  return {
    call,
    take: (replies) => {
      for (const reply of replies) {
        const found = waiting.get(reply.call);
        if (found === undefined) continue;
        if ("part" in reply) {
          found.parts.push(reply.part);
          continue;
        }
        waiting.delete(reply.call);
        found.signal?.removeEventListener("abort", found.abort);
        if ("result" in reply) found.resolve((found.parts.length > 0 ? found.parts : reply.result) as never);
        else found.reject("error" in reply ? receiveError(reply.error) : found.signal?.reason);
      }
      if (closing && !isBusy()) closing.resolve();
    },
    close: async () => {
      closing ??= Promise.withResolvers();
      if (isBusy()) await closing.promise;
    },
  };
};
