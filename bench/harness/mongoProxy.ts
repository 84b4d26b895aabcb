import { type NetworkProxy, openProxy } from "./proxy.ts";

/** A way to a MongoDB server through a stretch of network of its own. */
export interface MongoProxy {
  readonly url: string;
  readonly network: NetworkProxy;
}

/** @param direct URL of the server, or of a database on it. @returns the same, by way of `network` */
export const openMongoProxy = async (direct: string): Promise<MongoProxy> => {
  const url = new URL(direct);
  const network = await openProxy({ host: url.hostname, port: Number(url.port || 27017) });
  url.host = `127.0.0.1:${network.port}`;
  // Else the driver would find the server itself.
  url.searchParams.set("directConnection", "true");
  return { url: url.href, network };
};
