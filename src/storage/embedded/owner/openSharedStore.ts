import type { Clock } from "../../../domain/clock.ts";
import type { Counters, SharedCounter } from "../../port/counters.ts";
import type { CollectionName, Documents } from "../../port/documents.ts";
import type { Store } from "../../port/store.ts";
import { embeddedCollectionsWith } from "../embeddedCollectionsWith.ts";
import { embeddedCollection } from "../sqlite/embeddedCollection.ts";
import { createFileReader } from "../sqlite/fileReader.ts";
import { createReadTurns } from "../sqlite/readTurns.ts";
import { filesIn } from "../storeFiles.ts";
import { storeUsage } from "../storeUsage.ts";
import type { OwnerLink } from "./ownerLink.ts";

export interface SharedStoreOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly link: OwnerLink;
}

/** Whoever charges a counter keeps more beside it. */
const plain = ({ seq, current, previous }: SharedCounter): SharedCounter => ({ seq, current, previous });

/**
 * The embedded store of a process that shares it: it reads the file itself, which takes less than to ask for it, and has everything else
 * done by the process that has it open (`serveOwner`). That one's death is its own.
 */
export const openSharedStore = ({ directory, clock, link: { call, close } }: SharedStoreOptions): Store => {
  const files = filesIn(directory);
  const reader = createFileReader(files.database);
  const turns = createReadTurns();
  const counters: Counters = {
    isShared: true,
    read: (key) => call("read", [key]),
    charge: (key, seq, atMost, amount) => call("charge", [key, seq, atMost, amount]),
    open: (key, seq, atMost, amount, expireAt) => call("open", [key, seq, atMost, amount, expireAt]),
    roll: (key, from, to, expireAt) => call("roll", [key, plain(from), plain(to), expireAt]),
    refund: (key, seq, amount) => call("refund", [key, seq, amount]),
    list: (range, limit) => call("list", [range, limit]),
  };
  return {
    engine: "embedded",
    isInProcess: true,
    isShared: true,
    clock,
    collection: <N extends CollectionName>(name: N) =>
      embeddedCollection<Documents[N]>(name, reader, turns, { write: (operation, signal) => call("write", [operation], signal) }),
    collectionsWith: embeddedCollectionsWith(reader, turns),
    counters,
    prepare: async (signal) => {
      await call("prepare", [], signal);
      reader.open();
    },
    usage: () => storeUsage(directory, files),
    scrub: () => call("scrub", []),
    progress: () => call("progress", []),
    ping: async (signal) => {
      signal?.throwIfAborted();
      reader.row("SELECT 1", []);
      await call("ping", [], signal);
    },
    close: async () => {
      await close();
      reader.close();
    },
  };
};
