import { afterAll, afterEach, beforeEach, describe, test } from "vitest";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { type BreakableStore, closeEngines, outages } from "./outages.ts";

/** How long running calls may take to end, in milliseconds. */
const GRACE = 30_000;

afterAll(closeEngines);

// Each on a store of its own, waiting most of the time.
describe.concurrent.each(outages)("while $name", (outage) => {
  let place: BreakableStore;
  let api: Api;
  beforeEach(async () => {
    place = await outage.open();
    api = await startApi(outage.engine, { store: place.store });
  });
  afterEach(async () => {
    place.repair();
    await api.close();
    await place.close();
  });

  test("[protocol §9] the service stops all the same, and every call that ran has its answer", async ({ expect }) => {
    const [edge] = api.edges;
    const call = async (procedure: string, body: unknown) => edge?.call(procedure, body, api.rootKey);
    const limit = { namespace: "stopping", identifier: "user", limit: 1_000, duration: 60_000 };
    const { apiId } = dataOf((await call("apis.createApi", { name: "stopping" })) ?? expect.unreachable("there is no edge"));
    // Budget is held, events and changes wait to be written.
    for (let i = 0; i < 30; i++) await call("ratelimit.limit", limit);
    place.breakDown();
    let answered = 0;
    const running = Promise.all(
      [call("keys.createKey", { apiId }), call("apis.getApi", { apiId }), call("ratelimit.limit", { ...limit, cost: 900 })].map(
        async (answer) => {
          const status = (await answer)?.status;
          answered++;
          return status;
        },
      ),
    );
    // The service has all of them when it is stopped, whatever time that takes here.
    const known = async (): Promise<number> => {
      const metrics = await (await fetch(`${api.adminUrl}/metrics`)).text();
      return answered + Number(/^latchkey_calls_in_flight (\d)$/m.exec(metrics)?.[1]);
    };
    await expect.poll(known).toBe(3);
    const started = performance.now();
    await api.service.stop();
    expect(performance.now() - started).toBeLessThan(GRACE);
    expect(await running).toEqual([503, 503, 200]);
  });
});
