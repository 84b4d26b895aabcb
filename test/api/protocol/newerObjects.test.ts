import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../../src/platform/storage/port/baseDocument.ts";
import { createLog } from "../../../src/platform/telemetry/log.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { engines } from "../../support/stores.ts";

/** A node that runs on while a newer version writes to the same store. */
describe.each(engines)("on $name, an object that a newer version wrote", (engine) => {
  let api: Api;
  let log = "";
  beforeAll(async () => {
    const collect = {
      write: (line: string) => {
        log += line;
      },
    };
    api = await startApi(engine, { log: createLog("info", collect) });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });
  const call = async (procedure: string, body: object) => (await api.edges[0]?.call(procedure, body, api.rootKey)) ?? expect.unreachable();

  test("is refused by name, to the operator; the node runs on for everything else", async () => {
    const { apiId } = dataOf(await call("apis.createApi", { name: "mixed" }));
    const create = async () => dataOf(await call("keys.createKey", { apiId })) as { key: string; keyId: string };
    const [known, newer] = [await create(), await create()];
    const v = SCHEMA_VERSION + 1;
    await api.store.collection("keys").updateOne({ _id: newer.keyId }, { $set: { v } });

    for (const [procedure, body] of [
      ["keys.verifyKey", { key: newer.key }],
      ["keys.getKey", { keyId: newer.keyId }],
      ["keys.updateKey", { keyId: newer.keyId, name: "changed" }],
      ["keys.deleteKey", { keyId: newer.keyId }],
    ] as const) {
      log = "";
      const { detail } = expectError(await call(procedure, body), 500, "unexpected_error");
      expect(detail).not.toContain(newer.keyId);
      expect(log).toContain(`${newer.keyId} in keys was written by a newer version of Latchkey: its schema is ${v}`);
    }
    expect(dataOf(await call("keys.verifyKey", { key: known.key }))).toMatchObject({ code: "VALID" });
    expect(dataOf(await call("keys.getKey", { keyId: known.keyId }))).toMatchObject({ keyId: known.keyId });
    expect((await fetch(`${api.adminUrl}/readyz`)).status).toBe(200);
    const stored = await api.store.collection("keys").findFields(["deletedAt", "nameKey"], { _id: newer.keyId });
    expect(stored).toEqual([{ _id: newer.keyId }]);
  });
});
