import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { startServiceOn, withStoreOf } from "../../bench/harness/placed.ts";
import { createApisRepository } from "../../src/features/apis/apisRepository.ts";
import { createRolesRepository } from "../../src/features/permissions/rolesRepository.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sampleKey } from "../storage/contract/samples.ts";
import { places } from "../support/places.ts";

const KEYS = 1_000;

describe.each(places)("the sweep of a process on $name", ({ name, open, close }) => {
  let env: Record<string, string>;
  beforeAll(async () => {
    env = await open();
  });
  afterAll(() => close(env));

  /** Keys that are still to be removed, and keys that still hold the deleted role. */
  const leftIn = async (store: Store): Promise<{ removed: number; pulled: number }> => {
    const keys = await store.collection("keys").find({}).toArray();
    return {
      removed: keys.filter(({ apiId }) => apiId === "api_dead").length,
      pulled: keys.filter(({ roleIds }) => roleIds.includes("role_dead")).length,
    };
  };
  const left = (): Promise<{ removed: number; pulled: number }> => withStoreOf(env, leftIn);

  test("continues after a kill -9 in the middle", async () => {
    await withStoreOf(env, async (store) => {
      const apis = createApisRepository(store);
      const roles = createRolesRepository(store);
      for (const id of ["api_dead", "api_alive"]) await apis.insert({ id, name: id }, 1, []);
      await roles.insert({ id: "role_dead", name: "dead", permissionIds: [] }, 1, []);
      const keyOf = (i: number) => sampleKey({ apiId: i % 2 === 0 ? "api_dead" : "api_alive", roleIds: ["role_dead"] });
      await store.collection("keys").insertMany(Array.from({ length: KEYS }, (_, i) => keyOf(i)));
      // Long ago: due at once.
      await apis.delete("api_dead", 1, []);
      await roles.delete("role_dead", 1, []);
    });
    const killWhen = async (isReached: (now: { removed: number; pulled: number }) => boolean): Promise<void> => {
      await using service = await startServiceOn(env);
      await withStoreOf(env, async (store) => {
        await expect.poll(async () => isReached(await leftIn(store)), { interval: 20 }).toBe(true);
        service.kill("SIGKILL");
        await service.exited;
        // As if the dead one's lease had run out.
        await store.collection("leases").deleteOne({ _id: "sweep" });
      });
    };
    await killWhen(({ removed }) => removed < KEYS / 2);
    expect((await left()).removed).toBeGreaterThan(0);
    if (name === "embedded") {
      await killWhen(({ pulled }) => pulled < KEYS / 2);
      expect((await left()).pulled).toBeGreaterThan(0);
    }
    await using service = await startServiceOn(env);
    await withStoreOf(env, async (store) => {
      await expect.poll(() => leftIn(store)).toEqual({ removed: 0, pulled: 0 });
      await expect
        .poll(async () => [...(await store.collection("apis").find({}).toArray()), ...(await store.collection("roles").find({}).toArray())])
        .toMatchObject([{ _id: "api_alive" }]);
    });
    expect(await withStoreOf(env, async (store) => (await store.collection("keys").find({}).toArray()).length)).toBe(KEYS / 2);
    expect(service.output.stderr).toContain('"msg":"sweep ended"');
    // Counted with the round that found nothing left, which ends a moment after the documents are gone.
    const metrics = async (): Promise<string> => (await fetch(`${service.adminUrl}/metrics`)).text();
    await expect.poll(metrics).toContain('latchkey_sweep_due{collection="roles"} 0');
    expect((await runLatchkeyHere(["audit", "verify"], env)).code).toBe(0);
  });
});
