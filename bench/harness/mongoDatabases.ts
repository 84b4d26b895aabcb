import { randomBytes } from "node:crypto";
import { MongoClient } from "mongodb";

/** How the names of a run's databases begin, so that its end finds those that are left; the run's processes share it. */
export const mongoPrefix = (): string => {
  process.env.LATCHKEY_TEST_RUN ??= randomBytes(4).toString("hex");
  return `latchkey_test_${process.env.LATCHKEY_TEST_RUN}_`;
};

/** The URL of a database that nobody else uses, on the server of `MONGODB_URL`. */
export const freshMongoUrl = (server: string): string => {
  const url = new URL(server);
  url.pathname = `/${mongoPrefix()}${randomBytes(8).toString("hex")}`;
  return url.href;
};

export const dropMongoDatabase = async (url: string): Promise<void> => {
  const client = new MongoClient(url);
  await client.db().dropDatabase();
  await client.close();
};

/** Drops all databases of a server whose names begin with `prefix`. */
export const dropMongoDatabases = async (server: string, prefix: string): Promise<void> => {
  const client = new MongoClient(server);
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase();
  await client.close();
};
