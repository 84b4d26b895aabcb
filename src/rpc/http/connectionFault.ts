import { AsyncLocalStorage } from "node:async_hooks";
import type { Socket } from "node:net";

const connection = new AsyncLocalStorage<Socket>();

/** Runs `serve`, and everything that it starts, on behalf of a connection. */
export const runForConnection = (socket: Socket, serve: () => void): void => connection.run(socket, serve);

/** Where the code of a line of a stack is; undefined for lines that are no frame. */
const placeOf = (line: string): string | undefined => /^ {4}at (?:.*\()?(.+?)\)?$/.exec(line)?.[1];

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
    .map(placeOf)
    .filter((place) => place !== undefined);
  const [thrownAt] = places;
  return thrownAt !== undefined && isInHttp(thrownAt) && places.length < Error.stackTraceLimit && places.every(isInNode);
};

/** Destroys the connection on whose behalf the current code runs. Also works in a handler of `uncaughtException`. */
export const destroyCurrentConnection = (): void => void connection.getStore()?.destroy();
