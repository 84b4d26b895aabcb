import { expect } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { verifyAudit } from "../../src/features/audit/verifyAudit.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { eventsIn } from "../support/written.ts";

/** One call; undefined when there was no answer, or one that leaves open what happened (5xx). */
export type MaybeCall = (procedure: string, body: unknown) => Promise<Answer | undefined>;

/** Acknowledged state of one key. */
interface Promised {
  readonly keyId: string;
  readonly key: string;
  readonly externalId: string;
  updates: number;
  name: string;
  deleted: "no" | "asked" | "yes";
}

export interface Workload {
  /** Calls until one gets no answer; `acknowledged` is called with every answer. */
  readonly run: () => Promise<void>;
  /** Compares what is stored with what was promised, and each change with its events. */
  readonly expectKept: (store: Store, verify: (key: string) => Promise<unknown>) => Promise<void>;
}

/** Creates, changes and deletes keys, each in a loop of its own, and remembers what was acknowledged. */
export const createWorkload = (call: MaybeCall, apiId: string, label: string, loops: number, acknowledged: () => void): Workload => {
  const promised: Promised[] = [];

  const loop = async (n: number): Promise<void> => {
    const ask: MaybeCall = async (procedure, body) => {
      const answer = await call(procedure, body);
      if (answer === undefined || answer.status >= 500) return undefined;
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      acknowledged();
      return answer;
    };
    for (let i = 0; ; i++) {
      const externalId = `${label}_user_${n}_${i}`;
      const created = await ask("keys.createKey", { apiId, name: "created", externalId, permissions: [`${label}.permission.${n}`] });
      if (created === undefined) return;
      const { keyId, key } = created.body.data as { keyId: string; key: string };
      const told: Promised = { keyId, key, externalId, updates: 0, name: "created", deleted: "no" };
      promised.push(told);
      for (let change = 0; change < 2; change++) {
        const name = `change ${change}`;
        if ((await ask("keys.updateKey", { keyId, name })) === undefined) return;
        told.updates++;
        told.name = name;
      }
      if (i % 3 !== 0) continue;
      told.deleted = "asked";
      if ((await ask("keys.deleteKey", { keyId, permanent: i % 2 === 0 })) === undefined) return;
      told.deleted = "yes";
    }
  };

  return {
    run: async () => {
      await Promise.all(Array.from({ length: loops }, (_, n) => loop(n)));
    },
    expectKept: async (store, verify) => {
      const stored = new Map((await store.collection("keys").find({}).toArray()).map((key) => [key._id, key]));
      const identities = new Map((await store.collection("identities").find({}).toArray()).map((identity) => [identity._id, identity]));
      expect(promised.length).toBeGreaterThan(0);
      for (const { keyId, externalId, updates, name, deleted } of promised) {
        const found = stored.get(keyId);
        // The row of a key that was deleted for good goes when its events have been moved.
        const gone = found === undefined || found.deletedAt !== undefined;
        if (deleted !== "asked") expect(gone, keyId).toBe(deleted === "yes");
        if (gone) continue;
        expect([updates, updates + 1]).toContain(found.revision);
        if (found.revision === updates) expect(found.name).toBe(name);
        expect(identities.get(found.identityId ?? "")?.externalId).toBe(externalId);
      }
      const alive = promised.filter(({ keyId }) => stored.get(keyId)?.deletedAt === undefined && stored.has(keyId));
      for (const { key, keyId } of alive.slice(-20)) expect(await verify(key)).toMatchObject({ valid: true, keyId });
      for (const { key } of promised.filter(({ deleted }) => deleted === "yes").slice(-20)) {
        expect(await verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
      }
    },
  };
};

const countOf = (events: readonly AuditEvent[], name: string, id: string): number =>
  events.filter(({ event, resources }) => event === name && resources[0]?.id === id).length;

/** Every change has its event, and every event its change (protocol §11); the log is one unbroken chain. */
export const expectAudited = async (store: Store): Promise<void> => {
  const events = Map.groupBy(await eventsIn(store), ({ resources }) => resources[0]?.id ?? "");
  const stored = new Map<string, KeyDocument>((await store.collection("keys").find({}).toArray()).map((key) => [key._id, key]));
  const of = (id: string): readonly AuditEvent[] => events.get(id) ?? [];
  for (const { _id, revision, deletedAt } of stored.values()) {
    expect({
      created: countOf(of(_id), "key.create", _id),
      updated: countOf(of(_id), "key.update", _id),
      deleted: countOf(of(_id), "key.delete", _id),
    }).toEqual({ created: 1, updated: revision, deleted: deletedAt === undefined ? 0 : 1 });
  }
  for (const [id, its] of events) {
    // A missing key was deleted permanently, with its whole history in the log.
    if (id.startsWith("key_") && !stored.has(id)) expect([countOf(its, "key.create", id), countOf(its, "key.delete", id)]).toEqual([1, 1]);
  }
  for (const [collection, event] of [
    ["identities", "identity.create"],
    ["permissions", "permission.create"],
  ] as const) {
    const ids = (
      await store
        .collection(collection as "identities")
        .find({})
        .toArray()
    ).map(({ _id }) => _id);
    expect(ids.filter((id) => countOf(of(id), event, id) !== 1)).toEqual([]);
  }

  expect((await verifyAudit(createAuditLogRepository(store))).faults).toEqual([]);
};
