import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { openMongoProxy } from "../../bench/harness/mongoProxy.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { faultyStore } from "../support/faultyStore.ts";
import { type Engine, engines } from "../support/stores.ts";

/** A prepared store that a test can take away, and the engine to start services with. */
export interface BreakableStore {
  readonly store: Store;
  readonly breakDown: () => void;
  readonly repair: () => void;
  /** Of this store alone; see `closeEngines`. */
  readonly close: () => Promise<void>;
}

/** A kind of outage of a store. */
export interface Outage {
  readonly name: string;
  readonly engine: Engine;
  readonly open: () => Promise<BreakableStore>;
}

const faulty = (engine: Engine, mode: "fails" | "hangs"): Outage => ({
  name: `the ${engine.name} store ${mode}`,
  engine,
  open: async () => {
    const store = faultyStore(await engine.open());
    return { store, breakDown: () => store.behave(mode), repair: () => store.behave("well"), close: () => store.close() };
  },
});

const network = (engine: Engine, server: string, mode: "cut" | "hang"): Outage => ({
  name: `the connection to MongoDB ${mode === "cut" ? "is cut" : "hangs"}`,
  engine,
  open: async () => {
    const direct = freshMongoUrl(server);
    const { url, network: proxy } = await openMongoProxy(direct);
    const store = openMongoStore({ url });
    await store.prepare();
    return {
      store,
      breakDown: () => proxy[mode](),
      repair: () => proxy.resume(),
      close: async () => {
        await proxy.close();
        await dropMongoDatabase(direct);
      },
    };
  },
});

const server = process.env.MONGODB_URL;

/** Every outage that can be made here: of the embedded store, and of the network to the server of `MONGODB_URL`. */
export const outages: readonly Outage[] = engines.flatMap((engine) => {
  if (engine.name === "embedded") return [faulty(engine, "fails"), faulty(engine, "hangs")];
  return server ? [network(engine, server, "cut"), network(engine, server, "hang")] : [];
});

/** Removes what the stores of all outages left. For `afterAll` of a file, since outages may run side by side. */
export const closeEngines = async (): Promise<void> => {
  await Promise.all(engines.map((engine) => engine.close()));
};
