import { ServiceError } from "../base/errors.ts";

/** An abort signal and what it takes to let go of it. */
export interface CallSignal {
  readonly signal: AbortSignal;
  /** Stops the timer and the listeners: the call has its answer. */
  readonly release: () => void;
}

/** Who waits for the answer. */
export interface OtherEnd {
  /** Its connection or stream is closed, or it stopped sending for good (a connection that is given up looks no different). */
  readonly isGone: () => boolean;
  /** Calls back when it goes. Returns what ends that. */
  readonly watch: (gone: () => void) => () => void;
}

/** Aborts after `milliseconds` with `request_timeout`, and with `client_closed_request` when the other end is gone. */
export const createCallSignal = (otherEnd: OtherEnd, milliseconds: number): CallSignal => {
  const controller = new AbortController();
  const gone = () => controller.abort(new ServiceError("client_closed_request", "The client closed the request."));
  const late = () => controller.abort(new ServiceError("request_timeout", "The request was not done before its deadline."));
  if (otherEnd.isGone()) gone();
  else if (milliseconds <= 0) late();
  if (controller.signal.aborted) return { signal: controller.signal, release: () => undefined };

  const timer = setTimeout(late, milliseconds);
  const unwatch = otherEnd.watch(gone);
  const release = () => {
    clearTimeout(timer);
    unwatch();
  };
  return { signal: controller.signal, release };
};
