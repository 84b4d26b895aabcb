import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { systemSource } from "../../src/features/audit/auditEvent.ts";
import { updateRootKey } from "../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../../src/features/rootKeys/rootKeysRepository.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createAnnouncementFeed } from "../../src/platform/cache/announcementFeed.ts";
import { createInvalidations } from "../../src/platform/cache/invalidations.ts";
import { announceWrites } from "../../src/platform/storage/decorators/announceWrites.ts";
import { createChangesRepository } from "../../src/platform/storage/repositories/changesRepository.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi(engine);
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const call = (procedure: string, body: unknown, rootKey: string): Promise<Answer> => {
    const [edge] = api.edges;
    if (!edge) throw new Error("there is no edge");
    return edge.call(procedure, body, rootKey);
  };

  /** Changes a root key as another process does, such as the command line. */
  const changeElsewhere = async (rootKey: string, change: Parameters<typeof updateRootKey>[2]): Promise<void> => {
    const feed = createAnnouncementFeed({
      clock: systemClock,
      invalidations: createInvalidations(systemClock),
      changes: createChangesRepository(api.store),
      durable: true,
    });
    const rootKeys = createRootKeysRepository(announceWrites(api.store, feed, systemClock));
    const [document] = (await rootKeys.list()).filter(({ end }) => rootKey.endsWith(end));
    await updateRootKey(rootKeys, document?._id ?? "", change, systemSource(systemClock));
    await feed.stop();
  };

  const callersUntil = (rootKey: string, key: string, refused: (answer: Answer) => boolean) => {
    const callers = Array.from({ length: 8 }, async () => {
      for (;;) {
        const answer = await call("keys.verifyKey", { key }, rootKey);
        if (refused(answer)) break;
        expect(dataOf(answer).code).toBe("VALID");
      }
      // Once refused, always refused.
      for (let i = 0; i < 10; i++) expect(refused(await call("keys.verifyKey", { key }, rootKey))).toBe(true);
    });
    return Promise.all(callers);
  };

  const verifiedKey = async (): Promise<{ key: string; rootKey: string }> => {
    const { apiId } = dataOf(await call("apis.createApi", { name: "revoked" }, api.rootKey));
    const { key } = dataOf(await call("keys.createKey", { apiId }, api.rootKey)) as { key: string };
    return { key, rootKey: await api.createRootKey() };
  };

  test("[protocol §7] a root key that is revoked during calls is let in until then, 401 from then on, and nothing else", async () => {
    const { key, rootKey } = await verifiedKey();
    const callers = callersUntil(rootKey, key, ({ status }) => status === 401);
    await changeElsewhere(rootKey, { enabled: false });
    await callers;
    expectError(await call("keys.verifyKey", { key }, rootKey), 401, "unkey/authentication/key_disabled");
    await changeElsewhere(rootKey, { enabled: true });
    await vi.waitFor(async () => expect((await call("keys.verifyKey", { key }, rootKey)).status).toBe(200), { timeout: 10_000 });
  });

  test("[protocol §7] a root key that loses a permission during calls is 403 from then on", async () => {
    const { key, rootKey } = await verifiedKey();
    const callers = callersUntil(rootKey, key, ({ status }) => status === 403);
    await changeElsewhere(rootKey, { permissions: ["api.*.read_key"] });
    await callers;
    expectError(await call("keys.verifyKey", { key }, rootKey), 403, "unkey/authorization/insufficient_permissions");
  });
});
