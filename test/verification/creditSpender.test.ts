import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCreditSpender } from "../../src/features/keys/creditSpender.ts";
import { createKeysRepository, type KeysRepository } from "../../src/features/keys/keysRepository.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createId } from "../../src/platform/base/ids.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { engines } from "../support/stores.ts";

describe.each(engines)("on $name", (engine) => {
  let store: Store;
  let keys: KeysRepository;
  beforeAll(async () => {
    store = await engine.open();
    keys = createKeysRepository(store);
  });
  afterAll(() => engine.close());

  const keyWith = async (remaining: number | undefined): Promise<string> => {
    const keyId = createId("key", systemClock.now());
    await keys.insert({
      ...newDocument(keyId, systemClock.now(), []),
      apiId: "api_1",
      hash: keyId,
      start: "",
      enabled: true,
      ...(remaining === undefined ? {} : { remaining }),
      permissionIds: [],
      roleIds: [],
      ratelimits: [],
      revision: 0,
    });
    return keyId;
  };
  const balance = async (keyId: string): Promise<number | undefined> => (await keys.find(keyId))?.remaining;

  test("[verify §11] exactly 20 of 50 parallel spends of 20 credits succeed, with balances 19 to 0 each once", async () => {
    for (let round = 0; round < 10; round++) {
      const keyId = await keyWith(20);
      const credits = createCreditSpender(keys);
      const spends = await Promise.all(Array.from({ length: 50 }, () => credits.spend(keyId, 1)));
      const spent = spends.flatMap((spend) => (spend.outcome === "spent" ? [spend.balance] : []));
      expect(spent.sort((a, b) => b - a)).toEqual(Array.from({ length: 20 }, (_, i) => 19 - i));
      expect(spends.filter((spend) => spend.outcome === "exceeded").length).toBe(30);
      expect(await balance(keyId)).toBe(0);
    }
  });

  test("[verify §11] two nodes together never spend more than the balance, and all of it", async () => {
    const keyId = await keyWith(100);
    const nodes = [createCreditSpender(keys), createCreditSpender(keys)];
    const spends = await Promise.all(nodes.flatMap((credits) => Array.from({ length: 80 }, () => credits.spend(keyId, 1))));
    expect(spends.filter(({ outcome }) => outcome === "spent").length).toBe(100);
    expect(await balance(keyId)).toBe(0);
  });

  test("[verify §3] a spend beyond the balance reports the unchanged balance, and a smaller one behind it still passes", async () => {
    const keyId = await keyWith(5);
    const credits = createCreditSpender(keys);
    const [first, tooMuch, small] = await Promise.all([credits.spend(keyId, 1), credits.spend(keyId, 15), credits.spend(keyId, 3)]);
    expect(first).toEqual({ outcome: "spent", balance: 4 });
    expect(tooMuch.outcome).toBe("exceeded");
    expect(small).toEqual({ outcome: "spent", balance: 1 });
    expect(await balance(keyId)).toBe(1);
  });

  test("[verify §6] cost 0 passes at balance 0", async () => {
    const keyId = await keyWith(0);
    expect(await createCreditSpender(keys).spend(keyId, 0)).toEqual({ outcome: "spent", balance: 0 });
  });

  test("a key that became unlimited, or was deleted, says so", async () => {
    const credits = createCreditSpender(keys);
    expect(await credits.spend(await keyWith(undefined), 1)).toEqual({ outcome: "unlimited" });
    expect(await credits.spend("key_unknown", 1)).toEqual({ outcome: "gone" });
  });
});
