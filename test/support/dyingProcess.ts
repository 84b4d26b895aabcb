import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

/**
 * Does the same work again and again, each time as a process that dies after one more write, until one lives.
 * @param work by way of a store that is gone once the process is dead; may reject then.
 * @returns the number of writes that the surviving process was allowed.
 */
export const dyingAfterEachWrite = async (store: Store, work: (store: Store) => Promise<void>): Promise<number> => {
  for (let writes = 1; ; writes++) {
    let left = writes;
    let died = false;
    const mortal = interceptStore(store, async (operation, { kind }) => {
      if (died) throw new StoreUnavailableError("the process died");
      const result = await operation();
      died = kind === "write" && --left < 0;
      return result;
    });
    await work(mortal);
    if (!died) return writes;
  }
};
