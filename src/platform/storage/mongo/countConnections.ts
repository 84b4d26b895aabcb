import type { MongoClient } from "mongodb";

/** Connections of a client, as its pools tell of them. */
export interface ConnectionCount {
  readonly open: () => number;
  /** Of these, those that an operation has. */
  readonly inUse: () => number;
}

/** Counts from now on: to be called before the client connects. The connections by which servers are watched are not among them. */
export const countConnections = (client: MongoClient): ConnectionCount => {
  let open = 0;
  let inUse = 0;
  client.on("connectionCreated", () => open++);
  client.on("connectionClosed", () => open--);
  client.on("connectionCheckedOut", () => inUse++);
  client.on("connectionCheckedIn", () => inUse--);
  return { open: () => open, inUse: () => inUse };
};
