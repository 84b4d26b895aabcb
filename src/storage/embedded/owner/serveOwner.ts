import type { EmbeddedStore } from "../openEmbeddedStore.ts";
import { carryError } from "./carriedErrors.ts";
import type { OwnerOperations, OwnerReply, ToOwner } from "./ownerMessages.ts";

/** The operations of one process that shares the store. When it ends, what it has asked for is done to its end. */
export interface OwnerSession {
  readonly take: (message: ToOwner) => void;
}

interface Asked {
  /** Nobody waits any more. */
  readonly signal: AbortSignal;
  readonly tellPart: (part: unknown) => void;
}

type Operations = {
  readonly [N in keyof OwnerOperations]: (asked: Asked, ...args: Parameters<OwnerOperations[N]>) => ReturnType<OwnerOperations[N]>;
};

const operationsOf = (store: EmbeddedStore): Operations => {
  const { counters } = store;
  return {
    prepare: ({ signal }) => store.prepare(signal),
    ping: ({ signal }) => store.ping(signal),
    progress: async () => store.progress?.(),
    scrub: async () => (await store.scrub?.()) ?? false,
    write: ({ signal }, operation) => store.write(operation, signal),
    read: async (_, key) => counters.read(key),
    charge: (_, key, seq, atMost, amount) => counters.charge(key, seq, atMost, amount),
    open: (_, key, seq, atMost, amount, expireAt) => counters.open(key, seq, atMost, amount, expireAt),
    roll: (_, key, from, to, expireAt) => counters.roll(key, from, to, expireAt),
    refund: (_, key, seq, amount) => counters.refund(key, seq, amount),
    list: async (_, range, limit) => (await counters.list?.(range, limit)) ?? [],
  };
};

/** @param send takes all replies of one turn of the event loop: operations that share a commit share a message. */
export const serveOwner = (store: EmbeddedStore, send: (replies: readonly OwnerReply[]) => void): OwnerSession => {
  const operations = operationsOf(store);
  const running = new Map<number, AbortController>();
  let replies: OwnerReply[] = [];
  const reply = (message: OwnerReply): void => {
    if (!("part" in message)) running.delete(message.call);
    if (replies.push(message) > 1) return;
    setImmediate(() => {
      const all = replies;
      replies = [];
      send(all);
    });
  };
  return {
    take: (message) => {
      const { call } = message;
      if (message.type === "abort") return running.get(call)?.abort();
      const controller = new AbortController();
      const { signal } = controller;
      running.set(call, controller);
      const operation = operations[message.name] as (asked: Asked, ...args: readonly unknown[]) => Promise<unknown>;
      Promise.try(operation, { signal, tellPart: (part) => reply({ call, part }) }, ...message.args).then(
        (result) => reply({ call, result }),
        (error: unknown) => reply(signal.aborted && error === signal.reason ? { call, aborted: true } : { call, error: carryError(error) }),
      );
    },
  };
};
