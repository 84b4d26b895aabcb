import { once } from "node:events";
import pMap from "p-map";
import { keyOf } from "../population.ts";
import { type Beside, withService } from "./beside.ts";
import { metricSum } from "./metricSum.ts";
import type { ResultRow } from "./resultRows.ts";

/** Verified before memory is looked at first: code, roles, permissions and connections are there by then. */
const BEFORE = 2_000;
const KEYS = 20_000;
const PARALLEL = 16;
const MOST_BYTES = 1_024;

/** Bytes of the heap of a process that was started with `--inspect`, once nothing is in it that nobody holds. */
const inspectHeap = async (url: string) => {
  const socket = new WebSocket(url);
  await once(socket, "open");
  let last = 0;
  const ask = async <T>(method: string): Promise<T> => {
    const id = ++last;
    socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [{ data }] = (await once(socket, "message")) as [{ readonly data: string }];
      const answer = JSON.parse(data) as { readonly id?: number; readonly result: T };
      if (answer.id === id) return answer.result;
    }
  };
  await ask("HeapProfiler.enable");
  return {
    used: async (): Promise<number> => {
      for (let times = 0; times < 2; times++) await ask("HeapProfiler.collectGarbage");
      const { usedSize, backingStorageSize } = await ask<{ usedSize: number; backingStorageSize: number }>("Runtime.getHeapUsage");
      return usedSize + backingStorageSize;
    },
    close: () => socket.close(),
  };
};

/** What a key takes in the memory of a service once it was verified, by the kind of the key, and what the cache takes it for. */
export const measureCacheMemory = async (beside: Beside): Promise<readonly ResultRow[]> => {
  const { keys } = beside.filled.population;
  const most = Math.min(KEYS, Math.floor(keys / 10) - BEFORE);
  const measure = (lastDigit: number): Promise<{ heap: number; estimate: number }> =>
    withService(
      beside,
      async ({ server, call, adminUrl }) => {
        const [address] = await server.waitFor(/ws:\/\/\S+/);
        const heap = await inspectHeap(address);
        const verify = async (from: number, to: number): Promise<void> => {
          const numbers = Array.from({ length: to - from }, (_, i) => 10 * (from + i) + lastDigit);
          await pMap(numbers, (number) => call("keys.verifyKey", { key: keyOf(number) }), { concurrency: PARALLEL });
        };
        const look = async () => ({ used: await heap.used(), estimate: await metricSum(adminUrl, "latchkey_cache_bytes") });
        await verify(0, BEFORE);
        const before = await look();
        await verify(BEFORE, BEFORE + most);
        const after = await look();
        heap.close();
        return { heap: (after.used - before.used) / most, estimate: (after.estimate - before.estimate) / most };
      },
      { env: { CACHE_MB: "1024" }, nodeFlags: ["--inspect=127.0.0.1:0"] },
    );
  const rows: ResultRow[] = [];
  const kinds = [
    { what: "a role, two permissions, a limit, an identity of its own", lastDigit: 0 },
    { what: "a role, two permissions, a limit, an identity of many", lastDigit: 4 },
    { what: "nothing", lastDigit: 9 },
  ];
  for (const { what, lastDigit } of kinds) {
    const { heap, estimate } = await measure(lastDigit);
    rows.push({ what: `memory of a cached key with ${what}`, unit: "bytes", values: [heap], goal: { most: MOST_BYTES } });
    rows.push({ what: "by the cache's own estimate", unit: "bytes", values: [estimate] });
  }
  return rows;
};
