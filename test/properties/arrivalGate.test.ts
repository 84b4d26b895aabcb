import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { type ArrivalGate, createArrivalGate } from "../support/arrivalGate.ts";
import { engines } from "../support/stores.ts";
import { eventsIn } from "../support/written.ts";

const NODES = 6;

/** One node per caller: each reads the key, and none writes before all have read it. */
describe.each(engines)("on $name", (engine) => {
  const nodes: Api[] = [];
  let gate: ArrivalGate | undefined;
  beforeAll(async () => {
    const first = await engine.open();
    for (let i = 0; i < NODES; i++) {
      const store = i === 0 ? first : await engine.openBeside(first);
      const gated = interceptStore(store, async (operation, { collection, name }) => {
        if (collection === "keys" && (name === "findOneAndUpdate" || name === "bulkWrite")) await gate?.arrive();
        return operation();
      });
      nodes.push(await startApi(engine, { store: gated }));
    }
  });
  afterAll(async () => {
    for (const node of nodes.reverse()) await node.close();
    await engine.close();
  });
  const call = async (node: Api | undefined, procedure: string, body: object) =>
    dataOf((await node?.edges[0]?.call(procedure, body, node.rootKey)) ?? expect.unreachable());
  const createKey = async (fields: object = {}) => {
    const { apiId } = await call(nodes[0], "apis.createApi", { name: "gated" });
    return (await call(nodes[0], "keys.createKey", { apiId, ...fields })) as { keyId: string; key: string };
  };
  const together = async (change: (node: Api, i: number) => Promise<unknown>): Promise<void> => {
    gate = createArrivalGate(NODES);
    try {
      await Promise.all(nodes.map(change));
    } finally {
      gate = undefined;
    }
  };
  const eventsOf = async (keyId: string, event: string) =>
    (await eventsIn(nodes[0]?.store ?? expect.unreachable())).filter((each) => each.event === event && each.resources[0]?.id === keyId);

  test("[keys §3] when several updates have read the same key, each is written whole and the last one stays whole", async () => {
    const names = Array.from({ length: NODES }, (_, i) => `role ${i}`);
    for (const name of names) await call(nodes[0], "permissions.createRole", { name: name.replace(" ", ".") });
    const { keyId } = await createKey({ roles: ["role.0"], permissions: ["before"], credits: { remaining: 1 } });
    const setOf = (i: number) => ({
      name: `caller ${i}`,
      meta: { caller: i },
      expires: 4_000_000_000_000 + i,
      credits: { remaining: 100 + i, refill: { interval: "monthly", amount: 1 + i, refillDay: 1 + i } },
      enabled: i % 2 === 0,
      roles: [`role.${i}`],
      permissions: [`own.${i}`, `shared.${i % 2}`].sort(),
    });
    await together((node, i) =>
      call(node, "keys.updateKey", {
        keyId,
        externalId: `user_${i}`,
        ratelimits: [{ name: `limit ${i}`, limit: 1, duration: 1000 }],
        ...setOf(i),
      }),
    );
    const shown = await call(nodes[0], "keys.getKey", { keyId });
    const winner = Number((shown.meta as { caller: number }).caller);
    expect(shown).toMatchObject(setOf(winner));
    expect(shown).toMatchObject({ identity: { externalId: `user_${winner}` }, ratelimits: [{ name: `limit ${winner}` }] });
    expect((shown.roles as string[]).length + (shown.permissions as string[]).length + (shown.ratelimits as object[]).length).toBe(4);
    expect(await eventsOf(keyId, "key.update")).toHaveLength(NODES);
    // The changes are a chain: what one caller connected, the next one disconnected, down to what is held at the end.
    const idsOf = async (change: string) =>
      (await eventsOf(keyId, `authorization.${change}_permission_and_key`)).map(({ resources }) => resources[1]?.id);
    const held = await Promise.all(
      (shown.permissions as string[]).map(async (permission) => (await call(nodes[0], "permissions.getPermission", { permission })).id),
    );
    expect([...(await idsOf("disconnect")), ...held].sort()).toEqual((await idsOf("connect")).sort());
  });

  test("[keys §9] when several changes of credits have read the same balance, none is lost", async () => {
    const { keyId } = await createKey({ credits: { remaining: 100 } });
    await together((node, i) => call(node, "keys.updateCredits", { keyId, operation: i % 2 ? "decrement" : "increment", value: 10 ** i }));
    expect((await call(nodes[0], "keys.getKey", { keyId })).credits).toEqual({ remaining: expect.any(Number) });
    const increments = 1 + 100 + 10_000;
    const { credits } = (await call(nodes[0], "keys.getKey", { keyId })) as { credits: { remaining: number } };
    // A decrement stops at 0, so that the result depends on the order; but it is the result of one of them.
    const results = new Set<number>();
    const walk = (balance: number, left: readonly number[]): void => {
      if (left.length === 0) results.add(balance);
      for (const i of left)
        walk(
          Math.max(0, balance + (i % 2 ? -1 : 1) * 10 ** i),
          left.filter((each) => each !== i),
        );
    };
    walk(100, [0, 1, 2, 3, 4, 5]);
    expect(results).toContain(credits.remaining);
    expect(credits.remaining).toBeLessThanOrEqual(100 + increments);
    expect(await eventsOf(keyId, "key.update")).toHaveLength(NODES);
  });

  test("[verify §11] when all nodes know a balance of 4, exactly 4 verifications pass", async () => {
    const { keyId, key } = await createKey({ credits: { remaining: 4 } });
    const codes: unknown[] = [];
    await together(async (node) => codes.push((await call(node, "keys.verifyKey", { key })).code));
    expect(codes.sort()).toEqual(["USAGE_EXCEEDED", "USAGE_EXCEEDED", "VALID", "VALID", "VALID", "VALID"]);
    expect((await call(nodes[0], "keys.getKey", { keyId })).credits).toEqual({ remaining: 0 });
  });

  test("[permissions §11] when several callers have read the same list and add a permission, all permissions survive", async () => {
    const { keyId } = await createKey();
    await together((node, i) => call(node, "keys.addPermissions", { keyId, permissions: [`gated.${i}`] }));
    const { permissions } = await call(nodes[0], "keys.getKey", { keyId });
    expect(permissions).toEqual(Array.from({ length: NODES }, (_, i) => `gated.${i}`));
  });
});
