import type { ServerResponse } from "node:http";
import { ServiceError } from "../domain/errors.ts";
import { isGone } from "./http2Stream.ts";

/** An abort signal and what it takes to let go of it. */
export interface CallSignal {
  readonly signal: AbortSignal;
  /** Stops the timer and the listeners: the call has its answer. */
  readonly release: () => void;
}

/**
 * Aborts after `milliseconds` with `request_timeout`, and with `client_closed_request` when the other end is gone: its
 * connection or stream closed, or it stopped sending for good (a connection that is given up looks no different).
 */
export const createCallSignal = (res: ServerResponse, milliseconds: number): CallSignal => {
  const controller = new AbortController();
  const gone = () => controller.abort(new ServiceError("client_closed_request", "The client closed the request."));
  const late = () => controller.abort(new ServiceError("request_timeout", "The request was not done before its deadline."));
  // HTTP/2 tells the end of one request by the end of its stream; its socket serves others.
  const socket = res.req.httpVersionMajor === 1 ? res.req.socket : undefined;
  if (isGone(res) || socket?.readableEnded) gone();
  else if (milliseconds <= 0) late();
  if (controller.signal.aborted) return { signal: controller.signal, release: () => undefined };

  const timer = setTimeout(late, milliseconds);
  res.once("close", gone);
  socket?.once("end", gone);
  const release = () => {
    clearTimeout(timer);
    res.off("close", gone);
    socket?.off("end", gone);
  };
  return { signal: controller.signal, release };
};
