import { type ServiceProcess, type StartOptions, startService } from "../harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../harness/mongoDatabases.ts";
import { type MongoProxy, openMongoProxy } from "../harness/mongoProxy.ts";
import { createRootKeyOn } from "../harness/placed.ts";
import type { NetworkProxy } from "../harness/proxy.ts";
import { type Edge, v2Edge } from "../harness/v2Edge.ts";

/** One service process, and the stretch of network between it and the store. */
export interface ClusterNode {
  readonly service: ServiceProcess;
  readonly edge: Edge;
  readonly network: NetworkProxy;
}

export interface Cluster extends AsyncDisposable {
  readonly nodes: readonly ClusterNode[];
  readonly rootKey: string;
  /** A way to the same database for one more node, through a stretch of network of its own. */
  readonly connect: () => Promise<MongoProxy>;
  /** Another process on the same database. */
  readonly join: (env?: StartOptions["env"]) => Promise<ClusterNode>;
}

/** Starts `count` service processes on a new database of a MongoDB server. */
export const startCluster = async (server: string, count: number, env: StartOptions["env"] = {}): Promise<Cluster> => {
  const database = freshMongoUrl(server);
  const rootKey = await createRootKeyOn({ MONGODB_URL: database });
  const services: ServiceProcess[] = [];
  const networks: NetworkProxy[] = [];
  const connect: Cluster["connect"] = async () => {
    const way = await openMongoProxy(database);
    networks.push(way.network);
    return way;
  };
  const join: Cluster["join"] = async (own = env) => {
    const { url, network } = await connect();
    const service = await startService({ env: { ...own, MONGODB_URL: url } });
    services.push(service);
    return { service, network, edge: v2Edge(service.url) };
  };
  const nodes = await Promise.all(Array.from({ length: count }, () => join()));
  return {
    nodes,
    rootKey,
    connect,
    join,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
      await Promise.all(networks.map((network) => network.close()));
      await dropMongoDatabase(database);
    },
  };
};
