import { afterAll, beforeAll, expect, test } from "vitest";
import { rootKeyTemplates } from "../../../src/features/rootKeys/rootKeyTemplates.ts";
import { unaryMethods } from "../../../src/platform/rpc/edges/unaryMethods.ts";
import { procedureName } from "../../../src/platform/rpc/procedureName.ts";
import { services } from "../../../src/service/services.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { bodyOf, createObjects } from "../../support/bodies.ts";
import { type Engine, engines } from "../../support/stores.ts";

/** Grants do not depend on the engine. */
const engine = engines[0] as Engine;
let api: Api;
beforeAll(async () => {
  await engine.open();
  api = await startApi(engine);
});
afterAll(async () => {
  await api.close();
  await engine.close();
});

const call = (procedure: string, body: unknown, rootKey = api.rootKey) =>
  api.edges[0]?.call(procedure, body, rootKey) ?? expect.unreachable();

/** The procedures that a root key of the template is refused, of all there are. */
const refusedOf = async (name: string): Promise<string[]> => {
  const permissions = rootKeyTemplates.find((template) => template.name === name)?.permissions ?? expect.unreachable(name);
  const { key } = dataOf(await call("rootKeys.createKey", { name, permissions })) as { readonly key: string };
  const refused: string[] = [];
  for (const procedure of unaryMethods(services).map(procedureName)) {
    const objects = await createObjects(async (made, body) => dataOf(await call(made, body)), [procedure]);
    if ((await call(procedure, bodyOf(procedure, objects), key)).status === 403) refused.push(procedure);
  }
  return refused;
};

test("a root key of the template admin is refused no procedure", async () => {
  expect(await refusedOf("admin")).toEqual([]);
});

test("one of the template read-only is refused what changes or spends something, and nothing else", async () => {
  const names = unaryMethods(services).map(procedureName);
  const others = names.filter((name) => !/\.(get|list|search|whoami|tail|verifyChain)/.test(name));
  expect(await refusedOf("read-only")).toEqual(others);
});
