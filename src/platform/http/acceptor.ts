import { createServer, type Server, type Socket } from "node:net";
import type { Share } from "../fairness/fairShares.ts";
import { runForConnection } from "./connectionFault.ts";
import { probeDelay } from "./limits.ts";

/** Counts a new connection; undefined when its address has too many. Call `give` on the result when the connection closes. */
export type AcceptConnection = (remoteIp: string) => Pick<Share, "give"> | undefined;

/**
 * Accepts the connections of a port and passes each to `serve`. Those that `accept` refuses are closed before anything is read from
 * them, and before a TLS handshake. Node's HTTP servers never listen; each connection reaches them as a `connection` event.
 */
export const createAcceptor = (accept: AcceptConnection | undefined, serve: (socket: Socket) => void): Server =>
  createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeDelay }, (socket) => {
    socket.on("error", () => socket.destroy());
    const share = accept?.(socket.remoteAddress ?? "");
    if (accept !== undefined && share === undefined) {
      socket.destroy();
      return;
    }
    if (share) socket.once("close", share.give);
    runForConnection(socket, () => serve(socket));
  });
