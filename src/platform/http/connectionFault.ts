import { AsyncLocalStorage } from "node:async_hooks";
import type { Socket } from "node:net";

const currentConnection = new AsyncLocalStorage<Socket>();

/** Runs `serve`, and everything that it starts, in the context of a connection, so that a fault can be traced to it. */
export const runForConnection = (socket: Socket, serve: () => void): void => currentConnection.run(socket, serve);

/** Returns the location in a stack frame, undefined for other lines. */
const frameLocation = (line: string): string | undefined => /^ {4}at (?:.*\()?(.+?)\)?$/.exec(line)?.[1];

const isInNode = (place: string): boolean => place.startsWith("node:") || place === "<anonymous>" || place === "native";
const isInHttp = (place: string): boolean => /^node:(?:internal\/http|_http_)/.test(place);

/**
 * Whether an exception was thrown inside Node's HTTP/1.1 or HTTP/2 with none of our code on the stack, so that it concerns the state of
 * one connection and nothing else. False where the stack may have been cut off.
 */
export const isConnectionFault = (error: unknown): error is Error => {
  if (!(error instanceof Error) || error.stack === undefined) return false;
  const places = error.stack
    .split("\n")
    .map(frameLocation)
    .filter((place) => place !== undefined);
  const [thrownAt] = places;
  return thrownAt !== undefined && isInHttp(thrownAt) && places.length < Error.stackTraceLimit && places.every(isInNode);
};

/** Destroys the connection in whose context the code runs. Also works in a handler of `uncaughtException`. */
export const destroyCurrentConnection = (): void => void currentConnection.getStore()?.destroy();
