// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/platform/base/clock.ts";
import type { Collection, OperationOptions } from "../../../src/platform/storage/port/collection.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { createLeasesRepository } from "../../../src/platform/storage/repositories/leasesRepository.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { bodyOf, createObjects, type Objects } from "../../support/bodies.ts";
import { background, changing, manyWritesOf } from "../../support/changing.ts";
import { type Engine, engines } from "../../support/stores.ts";

/** Writes that go on when the caller is gone, and why they have to. */
const mustEnd: Readonly<Record<string, string>> = {
  "keys.rerollKey keys.findOneAndUpdate": "the new key exists, and the old one has to run out",
  "rootKeys.rerollKey rootKeys.findOneAndUpdate": "the new root key exists, and the old one has to run out",
};

/** A key of `createObjects` has no credits to add to. */
const bodies: Readonly<Record<string, (objects: Objects) => object>> = {
  "keys.updateCredits": ({ keyId }) => ({ keyId, operation: "set", value: 5 }),
};

/** Calls make the same requests to the store on every engine. */
const engine = engines[0] as Engine;

describe("the store's part of a call", () => {
  let store: Store;
  let api: Api;
  /** Operations of calls that could not be cancelled, reads of pages and writes: `<collection>.<operation>`. */
  const deaf: string[] = [];
  const overhear = (inner: Store): Store => ({
    ...inner,
    collection: (name) => {
      const collection = inner.collection(name);
      const note = (operation: string, options: OperationOptions | undefined): void => {
        if (!background.includes(name) && name !== "idempotency" && options?.signal === undefined) deaf.push(`${name}.${operation}`);
      };
      const heard: Collection<never> = {
        ...(collection as unknown as Collection<never>),
        find: (filter, options) => {
          // Several calls may share other reads. The count of rows to sweep belongs to no call.
          if (options?.limit !== undefined && !("sweepFrom" in filter)) note("find", options);
          return (collection as unknown as Collection<never>).find(filter, options);
        },
        insertOne: (document, options) => {
          note("insertOne", options);
          return (collection as unknown as Collection<never>).insertOne(document, options);
        },
        insertMany: (documents, options) => {
          note("insertMany", options);
          return (collection as unknown as Collection<never>).insertMany(documents, options);
        },
        updateOne: (filter, update, options) => {
          note("updateOne", options);
          return (collection as unknown as Collection<never>).updateOne(filter, update, options);
        },
        findOneAndUpdate: (filter, update, options) => {
          note("findOneAndUpdate", options);
          return (collection as unknown as Collection<never>).findOneAndUpdate(filter, update, options);
        },
      };
      return heard as unknown as typeof collection;
    },
  });
  beforeAll(async () => {
    store = await engine.open();
    // So that no node moves events or sweeps meanwhile: those writes belong to no call.
    const leases = createLeasesRepository(store);
    for (const lease of ["audit", "sweep"]) await leases.acquire(lease, "this test", systemClock.now(), 3_600_000);
    api = await startApi(engine, { store: overhear(store) });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const call = async (procedure: string, body: unknown): Promise<Record<string, unknown>> =>
    dataOf((await api.edges[0]?.call(procedure, body, api.rootKey)) ?? expect.unreachable());

  test.each(changing)("every write of %s ends when its caller is gone, or has a reason not to", async (procedure) => {
    const objects: Objects = await createObjects(call);
    deaf.length = 0;
    await call(procedure, bodies[procedure]?.(objects) ?? manyWritesOf(procedure, objects));
    expect(deaf.map((write) => `${procedure} ${write}`).filter((write) => mustEnd[write] === undefined)).toEqual([]);
  });

  test.each([
    "apis.listApis",
    "apis.listKeys",
    "identities.listIdentities",
    "migrations.listMigrations",
    "permissions.listPermissions",
    "permissions.listRoles",
    "ratelimit.listCounters",
    "ratelimit.listNamespaces",
    "ratelimit.listOverrides",
    "rootKeys.listKeys",
    "rootKeys.whoami",
  ])("the page that %s reads is given up when its caller is gone", async (procedure) => {
    const objects: Objects = await createObjects(call);
    deaf.length = 0;
    await call(procedure, bodyOf(procedure, objects));
    expect(deaf).toEqual([]);
  });
});
