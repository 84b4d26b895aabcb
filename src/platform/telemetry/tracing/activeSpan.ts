import { AsyncLocalStorage } from "node:async_hooks";
import type { Context } from "@opentelemetry/api";

/** A traced call, as what is done for it finds it. */
export interface ActiveSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** What its children are started in. */
  readonly context: Context;
  /** It has its answer: what runs on behind it, such as a timer that it set, is no part of it. */
  isOver: boolean;
}

const storage = new AsyncLocalStorage<ActiveSpan>();

/** The traced call for which something is done now; undefined for what nobody traces. */
export const activeSpan = (): ActiveSpan | undefined => {
  const active = storage.getStore();
  return active === undefined || active.isOver ? undefined : active;
};

/** Runs something, and all that it starts, for a traced call. */
export const runFor = <T>(active: ActiveSpan, part: () => T): T => storage.run(active, part);
