// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import type { ServiceProcess } from "../../bench/harness/latchkeyProcess.ts";
import { createRootKeyOn, startServiceOn } from "../../bench/harness/placed.ts";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { AUDIT_FORMAT } from "../../src/features/audit/chainHash.ts";
import { readChanges } from "../../src/features/audit/readChanges.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import { dataOf, testConfig } from "../support/api.ts";
import { places } from "../support/places.ts";
import { eventsIn } from "../support/written.ts";

describe.each(places)("[verify §9] on $name, next to a running service", ({ open, close }) => {
  let env: Record<string, string>;
  let service: ServiceProcess;
  let rootKey: string;
  const call = async (procedure: string, body: object): Promise<Record<string, unknown>> =>
    dataOf(await v2Edge(service.url).call(procedure, body, rootKey));
  const codeOf = async (key: unknown): Promise<unknown> => (await call("keys.verifyKey", { key })).code;
  const allow = (apiId: unknown, list: string) => runCommand(["api", "set-ip-allowlist", apiId as string, list], env);

  beforeAll(async () => {
    env = await open();
    service = await startServiceOn(env);
    rootKey = await createRootKeyOn(env);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await close(env);
  });

  test("the service applies a new list, a replaced one and its removal", async () => {
    const { apiId } = await call("apis.createApi", { name: "restricted" });
    const { key } = await call("keys.createKey", { apiId });
    expect(await codeOf(key)).toBe("VALID");
    expect(await allow(apiId, " 192.0.2.1 ,2001:DB8:0::1/32")).toEqual({
      code: 0,
      printed: [],
      complained: [`${apiId}: 192.0.2.1/32, 2001:db8::/32`],
    });
    await expect.poll(() => codeOf(key), { timeout: 30_000 }).toBe("FORBIDDEN");
    expect(await allow(apiId, "::ffff:127.0.0.0/104")).toMatchObject({ code: 0, complained: [`${apiId}: 127.0.0.0/8`] });
    await expect.poll(() => codeOf(key), { timeout: 30_000 }).toBe("VALID");
    expect(await allow(apiId, "192.0.2.1,192.0.2.1/32")).toMatchObject({ code: 0, complained: [`${apiId}: 192.0.2.1/32`] });
    await expect.poll(() => codeOf(key), { timeout: 30_000 }).toBe("FORBIDDEN");
    expect(await allow(apiId, "")).toEqual({ code: 0, printed: [], complained: [`${apiId} may be verified from anywhere.`] });
    await expect.poll(() => codeOf(key), { timeout: 30_000 }).toBe("VALID");
  });

  test("[management §8] every command is an audit event of the system, also one that changes nothing", async () => {
    const { apiId } = await call("apis.createApi", { name: "audited" });
    await allow(apiId, "192.0.2.1");
    await allow(apiId, "");
    await allow(apiId, "");
    const store = await openStore({ ...testConfig(env), clock: systemClock, mode: "tool" });
    await store.prepare();
    const events = (await eventsIn(store)).filter(({ resources }) => resources.some(({ id }) => id === apiId));
    await store.close();
    expect(events.map(({ event, actor }) => `${event} by ${actor.type}`)).toEqual([
      "api.create by rootkey",
      ...Array(3).fill("api.update by system"),
    ]);
    expect(events.map((event) => readChanges({ event, format: AUDIT_FORMAT }))).toEqual([
      undefined,
      [{ field: "ipAllowlist", after: ["192.0.2.1/32"] }],
      [{ field: "ipAllowlist", before: ["192.0.2.1/32"] }],
      [],
    ]);
  });

  test("an API that is unknown or deleted fails with 4", async () => {
    const { apiId } = await call("apis.createApi", { name: "deleted" });
    await call("apis.deleteApi", { apiId });
    for (const id of [apiId, "api_unknown"]) {
      expect(await allow(id, "192.0.2.1")).toMatchObject({ code: 4, complained: [expect.stringContaining(`${id} does not exist`)] });
    }
  });
});
