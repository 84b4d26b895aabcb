import { expect, test } from "vitest";
import { type Intercept, interceptStore } from "../../bench/harness/interceptStore.ts";
import { runAll } from "../../src/service/runAll.ts";
import { dataOf, startApi } from "../support/api.ts";
import { createArrivalGate } from "../support/arrivalGate.ts";
import { engines } from "../support/stores.ts";

test("every step runs in its turn, even after a failure; then all failures are reported", async () => {
  const ran: number[] = [];
  const step = (n: number, error?: Error) => async (): Promise<void> => {
    ran.push(n);
    if (error) throw error;
  };
  const [first, second] = [new Error("first"), new Error("second")];
  await expect(runAll([step(1), step(2, first), step(3)])).rejects.toBe(first);
  await expect(runAll([step(4, first), step(5, second), step(6)])).rejects.toMatchObject({ errors: [first, second] });
  await runAll([() => undefined, step(7)]);
  expect(ran).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

for (const engine of engines) {
  test(`on ${engine.name}, a store that cannot be closed keeps the service from nothing else of its stop`, async () => {
    const store = await engine.open();
    const api = await startApi(engine, { store: { ...store, close: () => Promise.reject(new Error("the disk is gone")) } });
    await expect(api.service.stop()).rejects.toThrow("the disk is gone");
    await expect(fetch(`${api.adminUrl}/livez`)).rejects.toThrow();
    await expect(fetch(`${api.url}/v2/liveness`)).rejects.toThrow();
    for (const edge of api.edges) edge.close();
    await engine.close();
  });

  // Alone, a node gives back nothing but at its stop.
  test.runIf(engine.name === "mongo")(
    `on ${engine.name}, a stop waits for budget that is on its way back, and gives the rest back`,
    async () => {
      const store = await engine.open();
      const sent = createArrivalGate(2);
      let hold = false;
      let arrived = 0;
      const intercept: Intercept = async (operation, { collection, name }) => {
        if (!hold || collection !== "counters" || name !== "refund") return operation();
        await sent.arrive();
        await new Promise((resolve) => setTimeout(resolve, 100));
        const result = await operation();
        arrived++;
        return result;
      };
      const api = await startApi(engine, { store: interceptStore(store, intercept) });
      const [edge] = api.edges;
      const body = { namespace: "stopping", identifier: "user", limit: 1_000, duration: 2_592_000_000 };
      for (let i = 0; i < 30; i++) dataOf((await edge?.call("ratelimit.limit", body, api.rootKey)) ?? expect.unreachable());
      hold = true;
      await sent.arrive();
      await api.service.stop();
      expect(arrived).toBeGreaterThan(0);
      const beside = await engine.openBeside(store);
      expect((await beside.collection("counters").find({}).toArray()).map(({ current }) => current)).toEqual([30]);
      for (const each of api.edges) each.close();
      await engine.close();
    },
  );
}
