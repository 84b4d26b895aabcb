import { isIP } from "node:net";
import { createClient, createCluster } from "@redis/client";
import type { CounterServerAddress, Credentials, HostAndPort } from "../../secrets/counterServerAddress.ts";

/** PEM texts. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** One server that takes writes. */
export interface ServerNode {
  /** `host:port` */
  readonly name: string;
  readonly send: (command: string[]) => Promise<unknown>;
}

/**
 * A connection to a server, or one to each primary of a cluster. A command whose connection is lost rejects and is never sent
 * again; the link is lost with it, except in a cluster.
 */
export interface Link {
  /** Sends a command to the server that has the key. */
  readonly send: (key: string, command: string[]) => Promise<unknown>;
  /** In a stable order. */
  readonly nodes: () => readonly ServerNode[];
  /** Resolves with the reason. */
  readonly lost: Promise<Error>;
  /** Rejects what is in flight. */
  readonly close: (reason?: Error) => void;
}

export interface LinkOptions {
  readonly address: CounterServerAddress;
  /** Read for each link, so that renewed certificates are picked up. Undefined without TLS. */
  readonly readTls: (() => Promise<TlsMaterial>) | undefined;
}

const CONNECT_TIMEOUT_MS = 2_000;
/** In a cluster, how long after a node was lost the others are asked who has its slots. */
const REFRESH_AFTER_MS = 500;
const LONGEST_RECONNECT_MS = 1_000;

/** Options of every client. The limits on time are the guard's: a timer for each command doubles what it costs. */
const clientOptions = ({ user, password }: Credentials) => ({
  ...(user !== undefined && { username: user }),
  ...(password !== undefined && { password: password.reveal() }),
  RESP: 3 as const,
  clientInfoTag: "latchkey",
  disableOfflineQueue: true,
  maintNotifications: "disabled" as const,
  commandOptions: { timeout: 0 },
});

const socketOptions = (tls: TlsMaterial | undefined) =>
  tls === undefined ? { connectTimeout: CONNECT_TIMEOUT_MS } : { connectTimeout: CONNECT_TIMEOUT_MS, tls: true as const, ...tls };

interface Connection extends ServerNode, Pick<Link, "lost" | "close"> {}

const connect = async (
  { host, port }: HostAndPort,
  credentials: Credentials,
  database: number,
  tls: TlsMaterial | undefined,
): Promise<Connection> => {
  const client = createClient({
    ...clientOptions(credentials),
    database,
    socket: { ...socketOptions(tls), host, port, ...(tls && isIP(host) === 0 && { servername: host }), reconnectStrategy: false },
  });
  const { promise: lost, resolve: lose } = Promise.withResolvers<Error>();
  const close = (reason = new Error("the connection was closed")): void => {
    client.destroy();
    lose(reason);
  };
  let failure: Error | undefined;
  client.on("error", (error: Error) => {
    failure ??= error;
    close(error);
  });
  try {
    await client.connect();
  } catch (error) {
    client.destroy();
    // The client may only say that it was closed because of it.
    throw failure ?? error;
  }
  return { name: `${host}:${port}`, send: (command) => client.sendCommand(command), lost, close };
};

const linkOf = (connection: Connection): Link => ({
  send: (_key, command) => connection.send(command),
  nodes: () => [connection],
  lost: connection.lost,
  close: connection.close,
});

/** Asks the Sentinels, one after the other, where the server is. */
const findMaster = async ({ address }: LinkOptions, tls: TlsMaterial | undefined): Promise<HostAndPort> => {
  const failures: string[] = [];
  for (const host of address.hosts) {
    const name = `${host.host}:${host.port}`;
    try {
      const sentinel = await connect(host, address.sentinelCredentials, 0, tls);
      const found = await sentinel.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", address.master]).finally(() => sentinel.close());
      if (Array.isArray(found)) return { host: String(found[0]), port: Number(found[1]) };
      failures.push(`${name} does not know it`);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`no Sentinel says where ${address.master} is (${failures.join("; ")})`);
};

const openBySentinel = async (options: LinkOptions, tls: TlsMaterial | undefined): Promise<Link> => {
  const { credentials, database } = options.address;
  const connection = await connect(await findMaster(options, tls), credentials, database, tls);
  try {
    const role: unknown = await connection.send(["ROLE"]);
    if (Array.isArray(role) && role[0] === "master") return linkOf(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
  connection.close();
  throw new Error(`${connection.name} is not the primary, as the Sentinels say`);
};

const openCluster = async ({ address }: LinkOptions, tls: TlsMaterial | undefined): Promise<Link> => {
  const socket = {
    ...socketOptions(tls),
    reconnectStrategy: (retries: number): number => Math.min(100 * 2 ** Math.min(retries, 10), LONGEST_RECONNECT_MS),
  };
  const { RESP, commandOptions, ...defaults } = clientOptions(address.credentials);
  const cluster = createCluster({
    RESP,
    commandOptions,
    rootNodes: address.hosts.map(({ host, port }) => ({ socket: { ...socketOptions(tls), host, port } })),
    defaults: { ...defaults, socket },
    // A primary that is down keeps nobody from the others.
    minimizeConnections: true,
    topologyRefreshOnReconnectionAttemptStrategy: REFRESH_AFTER_MS,
  });
  const { promise: lost, resolve: lose } = Promise.withResolvers<Error>();
  let failure: Error | undefined;
  cluster.on("error", (error: Error) => {
    failure = error;
  });
  cluster.on("node-error", (error: Error) => {
    failure = error;
  });
  const close = (reason = new Error("the connections were closed")): void => {
    cluster.destroy();
    lose(reason);
  };
  try {
    await cluster.connect();
  } catch (error) {
    cluster.destroy();
    throw failure ?? error;
  }
  const nodes = (): readonly ServerNode[] =>
    cluster.masters
      .map((node) => ({
        name: node.address,
        send: async (command: string[]): Promise<unknown> => (await cluster.nodeClient(node)).sendCommand(command),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  return { send: (key, command) => cluster.sendCommand(key, false, command), nodes, lost, close };
};

/** Connects. Rejects with what the client says. */
export const openLink = async (options: LinkOptions): Promise<Link> => {
  const { address } = options;
  const tls = await options.readTls?.();
  switch (address.kind) {
    case "single":
      return linkOf(await connect(address.hosts[0] as HostAndPort, address.credentials, address.database, tls));
    case "sentinel":
      return openBySentinel(options, tls);
    case "cluster":
      return openCluster(options, tls);
  }
};
