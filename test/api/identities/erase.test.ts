import { describe, expect, test } from "vitest";
import { createAuditLogRepository } from "../../../src/features/audit/auditLogRepository.ts";
import { checkChain } from "../../../src/features/audit/checkChain.ts";
import { createNodesRepository } from "../../../src/features/nodes/nodesRepository.ts";
import { collectionNames } from "../../../src/platform/storage/embedded/sqlite/schema.ts";
import { SCHEMA_VERSION } from "../../../src/platform/storage/port/baseDocument.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { expectError } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { everywhere } from "../../support/everywhere.ts";
import { expectInvalid } from "../../support/rootKeys.ts";

/** Everything in the store, as text. */
const dump = async (store: Store): Promise<string> => {
  const all = await Promise.all(
    collectionNames.map(async (name) => [
      name,
      await store
        .collection(name as "apis")
        .find({})
        .toArray(),
    ]),
  );
  return JSON.stringify(all);
};

const faultOf = async (store: Store) => (await checkChain(createAuditLogRepository(store), { from: undefined, limit: 100_000 })).broken;

everywhere(
  (run) => {
    /** A person whose names are all told from each other, in every place that knows them. */
    const person = async () => {
      const [externalId, secret] = [run.unique("dave"), run.unique("hidden")];
      const apiId = await run.createApi();
      const plain = { apiId, externalId, name: `${secret}-name`, meta: { at: `${secret}-meta` } };
      const { keyId, key } = await run.createKey(plain);
      const deleted = await run.createKey(plain);
      const moved = await run.createKey({ ...plain, name: "moved", meta: {} });
      await run.data("identities.updateIdentity", { identity: externalId, meta: { first: `${secret}-first` } });
      await run.data("keys.updateKey", { keyId, name: `${secret}-renamed`, meta: { at: `${secret}-again` } });
      await run.data("keys.deleteKey", { keyId: deleted.keyId });
      await run.data("keys.updateKey", { keyId: moved.keyId, externalId: run.unique("other") });
      return { externalId, secret, apiId, keyId, key, moved };
    };
    const erase = (identity: string, rootKey?: string) => run.call("identities.deleteIdentity", { identity, erase: true }, rootKey);
    const erased = async (identity: string) =>
      (await run.data("identities.deleteIdentity", { identity, erase: true })).erasure as Record<string, unknown>;

    describe("identities.deleteIdentity {erase: true}", () => {
      test("[data §4] nothing of externalId, names and metadata remains in the store, the keys work, the log is whole", async () => {
        const { externalId, secret, apiId, keyId, key, moved } = await person();
        const other = await run.other();
        await run.data("keys.verifyKey", { key }, undefined, other);
        const head = await createAuditLogRepository(run.api.store).head();
        const answer = await erased(externalId);
        expect(answer).toMatchObject({ done: true, keys: 2, entries: 7, events: 0 });
        const left = await dump(run.api.store);
        expect(left).not.toContain(externalId);
        expect(left).not.toContain(secret);
        expect(left).not.toContain("erased:");
        expect(await faultOf(run.api.store)).toBeUndefined();
        // The former head is an unchanged entry of the log.
        expect((await createAuditLogRepository(run.api.store).findBySequence([head?.sequence ?? 0]))[0]?.hash).toBe(head?.hash);
        for (const node of [run.api, other]) {
          await eventually(async () => {
            const answered = await run.data("keys.verifyKey", { key }, undefined, node);
            expect(answered).toMatchObject({ valid: true, keyId });
            for (const field of ["identity", "name", "meta"]) expect(answered).not.toHaveProperty(field);
          });
        }
        expect(await run.getKey(keyId)).not.toHaveProperty("name");
        expect(await run.getKey(moved.keyId)).toMatchObject({ name: "moved" });
        expect(await run.data("apis.listKeys", { apiId, externalId })).toEqual([]);
      });

      test("[data §4] the log records the actor, the erased keys and entries, and later the completion", async () => {
        const { externalId, keyId } = await person();
        const rootKey = await run.api.createRootKey({ name: run.unique("eraser") });
        const { identityId } = await run.data("identities.createIdentity", { externalId: run.unique("bystander") });
        const id = (await run.data("identities.getIdentity", { identity: externalId })).id as string;
        await run.data("identities.deleteIdentity", { identity: externalId, erase: true }, rootKey);
        const logs = async (filter: object) =>
          (await run.data("audit.getLogs", { ...filter, limit: 500 })) as unknown as {
            event: string;
            description: string;
            resources: object[];
            auditLogId: string;
            meta: { changes?: object[]; erasedBy?: string };
          }[];
        const ofKey = await logs({ resourceId: keyId });
        expect(ofKey.map(({ event, description }) => [event, description])).toEqual([
          ["key.create", "Erased"],
          ["key.update", "Erased"],
          ["key.update", `Erased name and metadata of key ${keyId}`],
        ]);
        expect(ofKey[0]?.resources[0]).toEqual({ type: "key", id: keyId });
        expect(ofKey[2]?.meta.changes).toEqual([
          { field: "name", redacted: true },
          { field: "meta", redacted: true },
        ]);
        const ofIdentity = await logs({ resourceId: id });
        expect(ofIdentity.map(({ event, description }) => [event, description])).toEqual([
          ["identity.create", "Erased"],
          ["identity.update", "Erased"],
          ["identity.delete", `Deleted and erased identity ${id}`],
          ["audit.erase", expect.stringMatching(/^Erased the texts of \d+ entries of the audit log$/)],
        ]);
        expect(ofIdentity.map(({ meta: { erasedBy } }) => erasedBy)).toEqual([
          ofIdentity[3]?.auditLogId,
          ofIdentity[3]?.auditLogId,
          undefined,
          undefined,
        ]);
        expect((await logs({ resourceId: identityId as string }))[0]?.description).toMatch(/^Created identity bystander/);
      });

      test("[data §4] a second call is 404, as is an unknown externalId, and the id of an erased identity", async () => {
        const { externalId } = await person();
        const { id } = await run.data("identities.getIdentity", { identity: externalId });
        await erased(externalId);
        for (const identity of [externalId, id as string, run.unique("nobody"), "no id!"]) {
          expectError(await erase(identity), 404, "unkey/data/identity_not_found");
        }
        // Nothing is noted for later.
        expect(
          await run.api.store
            .collection("system")
            .find({ _id: { $gte: "erasure:", $lt: "erasure;" } })
            .toArray(),
        ).toEqual([]);
      });

      test("[data §4] a person whose identity was deleted before is erased by the externalId, whether it is taken again or not", async () => {
        for (const isTaken of [false, true]) {
          const { externalId, secret, keyId } = await person();
          await run.data("identities.deleteIdentity", { identity: externalId });
          const successor = isTaken && (await run.createKey({ externalId, name: run.unique(secret) }));
          expect(await erased(externalId)).toMatchObject({ done: true, keys: isTaken ? 3 : 2 });
          const left = await dump(run.api.store);
          expect(left).not.toContain(secret);
          expect(left).not.toContain(externalId);
          for (const id of [keyId, ...(successor ? [successor.keyId] : [])]) expect(await run.getKey(id)).not.toHaveProperty("name");
        }
      });

      test("[data §4] another node completes an unfinished erasure", async () => {
        const { externalId, secret } = await person();
        const { id } = await run.data("identities.getIdentity", { identity: externalId });
        const note = { externalId, identityIds: [id as string], through: 0, keys: 0, entries: 0, events: 0 };
        await run.api.store
          .collection("system")
          .insertOne({ _id: `erasure:${id}`, v: SCHEMA_VERSION, workspaceId: "ws_default", erasure: note });
        expect(await erased(externalId)).toMatchObject({ done: true, keys: 2 });
        expect(await dump(run.api.store)).not.toContain(secret);
      });

      test("[data §4] answers that were kept for a repeated call are forgotten with it", async () => {
        const { externalId, secret } = await person();
        const headers = { "idempotency-key": run.unique("key") };
        const url = `${run.api.url}/v2/identities.updateIdentity`;
        const body = JSON.stringify({ identity: externalId, meta: { first: `${secret}-kept` } });
        const sent = { authorization: `Bearer ${run.api.rootKey}`, "content-type": "application/json", ...headers };
        expect((await fetch(url, { method: "POST", headers: sent, body })).status).toBe(200);
        expect(await dump(run.api.store)).toContain(`${secret}-kept`);
        await erased(externalId);
        expect(await dump(run.api.store)).not.toContain(secret);
      });

      test("[data §4] needs erase_identity in addition to delete_identity; without erase nothing is erased", async () => {
        const { externalId, secret, keyId } = await person();
        for (const [action, missing] of [
          ["delete_identity", "erase_identity"],
          ["erase_identity", "delete_identity"],
        ] as const) {
          const rootKey = await run.api.createRootKey({ permissions: [`identity.*.${action}`] });
          const { detail } = expectError(await erase(externalId, rootKey), 403, "unkey/authorization/insufficient_permissions");
          expect(detail).toContain(`identity.*.${missing}`);
        }
        expectInvalid(await run.call("identities.deleteIdentity", { identity: externalId, erase: null }), "body.erase");
        expect(await run.data("identities.deleteIdentity", { identity: externalId, erase: false })).toEqual({});
        expect(await run.getKey(keyId)).toMatchObject({ name: `${secret}-renamed` });
      });

      test("[data §4] is refused while a node of an earlier version runs, which could not read such a log", async () => {
        const { externalId } = await person();
        const nodes = createNodesRepository(run.api.store);
        const [own] = await nodes.list(Date.now());
        if (own === undefined) return expect.unreachable();
        await nodes.write({ ...own, _id: "node_older", auditFormat: 2, lastSeenAt: Date.now() });
        try {
          const { detail } = expectError(await erase(externalId), 412, "unkey/application/precondition_failed");
          expect(detail).toContain("earlier version");
        } finally {
          await nodes.remove("node_older");
        }
        expect(await run.data("identities.getIdentity", { identity: externalId })).toMatchObject({ externalId });
      });
    });
  },
  ["v2"],
);
