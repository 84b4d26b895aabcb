import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Intercept, interceptStore } from "../../bench/harness/interceptStore.ts";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";
import { eventsIn } from "../support/written.ts";

type Write = "insert" | "change";
/** Events are moved out of keys in the background meanwhile, by `updateOne`: met by that, a deletion would outlast the reroll. */
const operations: Readonly<Record<Write, string>> = { insert: "insertOne", change: "findOneAndUpdate" };

/** Does something right before the next write of a kind, once. */
const createAmbush = (): { readonly intercept: Intercept; readonly lay: (write: Write, act: () => Promise<unknown>) => void } => {
  let laid: { readonly write: Write; readonly act: () => Promise<unknown> } | undefined;
  return {
    lay: (write, act) => {
      laid = { write, act };
    },
    intercept: async (operation, { collection, name }) => {
      if (laid && collection === "keys" && operations[laid.write] === name) {
        const { act } = laid;
        laid = undefined;
        await act();
      }
      return operation();
    },
  };
};

describe.each(engines)("on $name", (engine) => {
  const { intercept, lay } = createAmbush();
  let api: Api;
  let other: Api;
  beforeAll(async () => {
    const store = await engine.open();
    api = await startApi(engine, { store: interceptStore(store, intercept) });
    other = await startApi(engine, { store: await engine.openBeside(store) });
  });
  afterAll(async () => {
    await other.close();
    await api.close();
    await engine.close();
  });
  const call = async (procedure: string, body: object, node = api): Promise<Answer> =>
    (await node.edges[0]?.call(procedure, body, node.rootKey)) ?? expect.unreachable();
  const data = async (procedure: string, body: object) => dataOf(await call(procedure, body));
  /** The same on another node: nothing in this process makes it wait for this one. */
  const elsewhere = async (procedure: string, body: object) => dataOf(await call(procedure, body, other));
  const createKey = async (fields: object = {}): Promise<{ apiId: string; keyId: string; key: string }> => {
    const { apiId } = await data("apis.createApi", { name: "races" });
    return { ...(await data("keys.createKey", { apiId, ...fields })), apiId } as { apiId: string; keyId: string; key: string };
  };
  const keysOf = (apiId: string) => api.store.collection("keys").find({ apiId }).toArray();

  /** Every usable key of the API has a holder: an answer handed out its secret. */
  const expectNoOrphan = async (apiId: string, handedOut: readonly unknown[]): Promise<void> => {
    const live = (await keysOf(apiId)).filter((key) => key.deletedAt === undefined);
    expect(live.map((key) => key._id).filter((id) => !handedOut.includes(id))).toEqual([]);
  };

  test.each<[string, Write, boolean]>([
    ["before the new key stands", "insert", false],
    ["before the new key stands, for good", "insert", true],
    ["before the old key runs out", "change", false],
    ["before the old key runs out, for good", "change", true],
  ])("[protocol §2] a key deleted %s: the reroll hands out the key that it made, or makes none", async (_, write, permanent) => {
    const { apiId, keyId, key } = await createKey({ name: "raced" });
    lay(write, () => elsewhere("keys.deleteKey", { keyId, permanent }));
    const answer = await call("keys.rerollKey", { keyId, expiration: 0 });
    expect([200, 404]).toContain(answer.status);
    const made = answer.body.data as { keyId: string; key: string } | undefined;
    await expectNoOrphan(apiId, made === undefined ? [] : [made.keyId]);
    if (made) expect(await data("keys.verifyKey", { key: made.key })).toMatchObject({ valid: true, name: "raced" });
    expect(await data("keys.verifyKey", { key })).toEqual({ valid: false, code: "NOT_FOUND" });
    const rerolls = (await eventsIn(api.store)).filter(
      ({ event, resources }) => event === "key.reroll" && resources.some(({ id }) => id === keyId),
    );
    expect(rerolls).toHaveLength(made ? 1 : 0);
  });

  test("[keys §6] an expiry that another caller brings forward meanwhile stays, and the reroll does not prolong it", async () => {
    const { keyId, key } = await createKey();
    lay("change", () => elsewhere("keys.updateKey", { keyId, expires: 1 }));
    await data("keys.rerollKey", { keyId, expiration: 3_600_000 });
    expect(await data("keys.getKey", { keyId })).toMatchObject({ expires: 1 });
    expect(await data("keys.verifyKey", { key })).toMatchObject({ code: "EXPIRED" });
  });

  test("[keys §6] credits spent meanwhile are spent from the old key, and the copy has the balance that was read", async () => {
    const { keyId, key } = await createKey({ credits: { remaining: 10 } });
    lay("insert", () => elsewhere("keys.verifyKey", { key, credits: { cost: 4 } }));
    const fresh = await data("keys.rerollKey", { keyId, expiration: 60_000 });
    expect(await data("keys.getKey", { keyId })).toMatchObject({ credits: { remaining: 6 } });
    expect(await data("keys.getKey", { keyId: fresh.keyId })).toMatchObject({ credits: { remaining: 10 } });
  });

  test("[keys §6] ten rerolls at once give ten keys, and the old one expires at the earliest of the times asked for", async () => {
    const { apiId, keyId, key } = await createKey({ credits: { remaining: 3 } });
    const expirations = [0, 1, null, 60_000, 3_600_000, 0, null, 1, 60_000, 3_600_000];
    const made = await Promise.all(expirations.map((expiration) => data("keys.rerollKey", { keyId, expiration })));
    expect(new Set(made.map((each) => each.key)).size).toBe(10);
    const verified = await Promise.all(made.map((each) => data("keys.verifyKey", { key: each.key })));
    // A copy of a key that another call has just let run out is expired like it.
    expect(verified.filter(({ code }) => code !== "VALID" && code !== "EXPIRED")).toEqual([]);
    expect(verified).toContainEqual(expect.objectContaining({ code: "VALID", credits: 2 }));
    expect(await data("keys.verifyKey", { key })).toMatchObject({ code: "EXPIRED" });
    await expectNoOrphan(apiId, [keyId, ...made.map((each) => each.keyId)]);
  });
});
