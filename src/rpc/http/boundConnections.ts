import type { Server, Socket } from "node:net";
import type { Share } from "../../domain/fairness/fairShares.ts";

/**
 * Bounds the connections of a server: those for which `accept` gives nothing are closed before anything is made of them.
 * What it gave is given back when the connection is closed.
 */
export const boundConnections = (server: Server, accept: (remoteIp: string) => Pick<Share, "give"> | undefined): void => {
  let latest: Pick<Share, "give"> | undefined;
  const check = (remoteIp: string): boolean => {
    latest = accept(remoteIp);
    return latest === undefined;
  };
  // Node asks its list of blocked addresses before it makes a socket, and a TLS handshake, of what it accepted.
  Object.assign(server, { blockList: { check } });
  server.prependListener("connection", (socket: Socket) => {
    const share = latest;
    latest = undefined;
    if (share) socket.once("close", share.give);
  });
};
