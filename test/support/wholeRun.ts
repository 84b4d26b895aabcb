import { useFolderInMemory } from "./folderInMemory.ts";

/** Says once per run which storage engines it covers: a newcomer needs no MongoDB, a release does. */
const announce = (): void => {
  console.info(
    process.env.MONGODB_URL === undefined
      ? "Storage: the embedded engine. To run the suite on MongoDB too, set MONGODB_URL."
      : process.env.LATCHKEY_TEST_ENGINE === "mongo"
        ? "Storage: the MongoDB server of MONGODB_URL alone."
        : "Storage: the embedded engine and the MongoDB server of MONGODB_URL.",
  );
};

/** Prepares a run before its first file; the resolved function cleans up after the last one. */
export default async (): Promise<() => Promise<void>> => {
  announce();
  // Before there are workers: they inherit it.
  const removeFolder = useFolderInMemory();
  const server = process.env.MONGODB_URL;
  if (server === undefined) return async () => removeFolder();
  const { dropMongoDatabases, mongoPrefix } = await import("../../bench/harness/mongoDatabases.ts");
  const prefix = mongoPrefix();
  return () => dropMongoDatabases(server, prefix).finally(removeFolder);
};
