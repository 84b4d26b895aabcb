import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { openEmbeddedStore } from "../../src/storage/embedded/openEmbeddedStore.ts";
import { openMongoStore } from "../../src/storage/mongo/openMongoStore.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { onEveryEngine } from "./onEveryEngine.ts";

/** A storage engine for suites that run on every one. */
export interface Engine {
  readonly name: Store["engine"];
  /** A prepared store on a new, empty database. */
  open(): Promise<Store>;
  /** Another prepared store on the same database, as a second process would have it. */
  openBeside(store: Store): Promise<Store>;
  /** Closes all that was opened and removes its databases. For `afterAll`. */
  close(): Promise<void>;
}

/** Removes every document; what is dearer to make, collections and indexes, stays. */
const emptyMongoDatabase = async (url: string): Promise<void> => {
  const client = new MongoClient(url);
  const collections = await client.db().listCollections({}, { nameOnly: true }).toArray();
  await Promise.all(collections.map(({ name }) => client.db().collection(name).deleteMany({})));
  await client.close();
};

/** @param create makes a new place, `openAt` opens a store there, `remove` removes it. */
const engine = <P>(
  name: Engine["name"],
  create: () => Promise<P>,
  openAt: (place: P, beside: boolean) => Store,
  remove: (place: P) => Promise<void>,
): Engine => {
  const opened = new Map<Store, P>();
  const prepared = async (place: P, beside: boolean): Promise<Store> => {
    const store = openAt(place, beside);
    opened.set(store, place);
    await store.prepare();
    return store;
  };
  return {
    name,
    open: async () => prepared(await create(), false),
    openBeside: (store) => {
      const place = opened.get(store);
      if (place === undefined) throw new Error("this engine did not open that store");
      return prepared(place, true);
    },
    close: async () => {
      await Promise.all([...opened.keys()].map((store) => store.close()));
      await Promise.all([...new Set(opened.values())].map(remove));
      opened.clear();
    },
  };
};

const embedded = engine(
  "embedded",
  () => mkdtemp(join(tmpdir(), "latchkey-test-")),
  (directory, beside) => openEmbeddedStore({ directory, clock: systemClock, mode: beside ? "tool" : "server" }),
  (directory) => rm(directory, { recursive: true }),
);

const mongo = (server: string): Engine => {
  // A new database costs the server five times as much as one that is emptied. The end of the run drops them (wholeRun.ts).
  const emptied: string[] = [];
  return engine(
    "mongo",
    async () => emptied.pop() ?? freshMongoUrl(server),
    (url) => openMongoStore({ url, counters: process.env.LATCHKEY_TEST_COUNTERS === "logs" ? "logs" : "documents" }),
    async (url) => {
      await emptyMongoDatabase(url);
      emptied.push(url);
    },
  );
};

/** Every engine that can run here: the embedded one, and MongoDB when `MONGODB_URL` names a server; or that one alone. */
export const engines: readonly Engine[] = onEveryEngine(embedded, mongo);
