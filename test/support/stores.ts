import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openEmbeddedStore } from "../../src/platform/storage/embedded/openEmbeddedStore.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { onEveryEngine } from "./onEveryEngine.ts";

/** A storage engine for suites that run on every one. */
export interface Engine {
  readonly name: Store["engine"];
  /** A prepared store on a new, empty database. */
  open(): Promise<Store>;
  /** Another prepared store on the same database, as a second process would have it. */
  openBeside(store: Store): Promise<Store>;
  /** Closes all opened stores and removes their databases, or empties them for reuse. For `afterAll`. */
  close(): Promise<void>;
}

/** Removes every document; what is dearer to make, collections and indexes, stays. */
const emptyMongoDatabase = async (url: string): Promise<void> => {
  const client = new MongoClient(url, { maxPoolSize: 1 });
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

/** A database and, to tell apart those who have it one after the other, an object for each. */
interface MongoPlace {
  readonly url: string;
}

const mongo = (server: string): Engine => {
  // Emptying a database costs the server a fifth of creating one. The end of the run drops them (wholeRun.ts).
  const left: string[] = [];
  const owners = new Map<string, MongoPlace>();
  const users = new Map<string, number>();
  const enter = ({ url }: MongoPlace, change: 1 | -1): void => {
    const now = (users.get(url) ?? 0) + change;
    users.set(url, now);
    if (now === 0) left.push(url);
    else if (left.includes(url)) left.splice(left.indexOf(url), 1);
  };
  return engine(
    "mongo",
    async () => {
      const old = left.pop();
      if (old !== undefined) await emptyMongoDatabase(old);
      const place = { url: old ?? freshMongoUrl(server) };
      owners.set(place.url, place);
      return place;
    },
    (place) => {
      if (owners.get(place.url) !== place) throw new Error("somebody else has this database since all of its stores were closed");
      enter(place, 1);
      const store = openMongoStore(place);
      let isOpen = true;
      const close = async (): Promise<void> => {
        await store.close();
        if (isOpen) enter(place, -1);
        isOpen = false;
      };
      return { ...store, close };
    },
    async () => undefined,
  );
};

/** Every engine that can run here: the embedded one, and MongoDB when `MONGODB_URL` names a server; or that one alone. */
export const engines: readonly Engine[] = onEveryEngine(embedded, mongo);
