import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";

/** A stretch of network between a client and a server that a test can break. */
export interface NetworkProxy {
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
  /** Ends every connection, and each new one at once. */
  cut(): void;
  /** Nothing moves any more, in either direction; connections stay open and new ones are accepted. */
  hang(): void;
  /** Everything moves again, also what was held back. */
  resume(): void;
  close(): Promise<void>;
}

export const openProxy = async (target: { readonly host: string; readonly port: number }): Promise<NetworkProxy> => {
  const sockets = new Set<Socket>();
  let mode: "open" | "cut" | "hung" = "open";

  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    if (mode === "hung") from.pause();
    from.on("data", (chunk) => to.write(chunk));
    // Tells nothing new: the close event follows, and the other side is closed with it.
    from.on("error", () => undefined);
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
  };

  const server = createServer((client) => {
    if (mode === "cut") {
      client.destroy();
      return;
    }
    const upstream = dial(target);
    join(client, upstream);
    join(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  const cut = (): void => {
    mode = "cut";
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    hang: () => {
      mode = "hung";
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      mode = "open";
      for (const socket of sockets) socket.resume();
    },
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};
