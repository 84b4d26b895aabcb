import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { systemClock } from "../../src/domain/clock.ts";
import { type EmbeddedStore, openEmbeddedStore } from "../../src/storage/embedded/openEmbeddedStore.ts";
import { openSharedStore } from "../../src/storage/embedded/owner/openSharedStore.ts";
import { createOwnerLink } from "../../src/storage/embedded/owner/ownerLink.ts";
import type { OwnerReply, ToOwner } from "../../src/storage/embedded/owner/ownerMessages.ts";
import { serveOwner } from "../../src/storage/embedded/owner/serveOwner.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { type Engine, engines } from "./stores.ts";

/** As a channel between processes does: later, in order, and as a copy. */
const carry = <T>(receive: (message: T) => void): ((message: T) => void) => {
  return (message) => {
    const bytes = serialize(message);
    setImmediate(() => receive(deserialize(bytes) as T));
  };
};

/** A store that shares that of an owner, as a worker has it. */
const shareStore = (owner: EmbeddedStore, directory: string): Store => {
  const session = serveOwner(
    owner,
    carry<readonly OwnerReply[]>((replies) => link.take(replies)),
  );
  const link = createOwnerLink(carry<ToOwner>(session.take));
  return openSharedStore({ directory, clock: systemClock, link });
};

/** The embedded engine as workers have it: each store shares the one of an owner. */
export const createSharedEngine = (): Engine => {
  const places = new Map<Store, { readonly directory: string; readonly owner: EmbeddedStore }>();
  const openAt = async (place: { readonly directory: string; readonly owner: EmbeddedStore }): Promise<Store> => {
    const store = shareStore(place.owner, place.directory);
    places.set(store, place);
    await store.prepare();
    return store;
  };
  return {
    name: "embedded",
    open: async () => {
      const directory = await mkdtemp(join(tmpdir(), "latchkey-test-"));
      return openAt({ directory, owner: openEmbeddedStore({ directory, clock: systemClock, mode: "server" }) });
    },
    openBeside: (store) => {
      const place = places.get(store);
      if (place === undefined) throw new Error("this engine did not open that store");
      return openAt(place);
    },
    close: async () => {
      await Promise.all([...places.keys()].map((store) => store.close()));
      for (const { directory, owner } of new Set(places.values())) {
        await owner.close();
        await rm(directory, { recursive: true });
      }
      places.clear();
    },
  };
};

/** Every engine, and with the embedded one what workers have of it. */
export const enginesOfNodes: readonly (Engine & { readonly title: string })[] = engines.flatMap((engine) => [
  { ...engine, title: engine.name },
  ...(engine.name === "embedded" ? [{ ...createSharedEngine(), title: "embedded, shared" }] : []),
]);
