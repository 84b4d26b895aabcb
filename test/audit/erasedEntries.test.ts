import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { type AppendEvents, createAppendEvents } from "../../src/features/audit/appendEvents.ts";
import { auditEvent, resource } from "../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { breakOfStub } from "../../src/features/audit/auditStub.ts";
import { chainHash } from "../../src/features/audit/chainHash.ts";
import { checkChain } from "../../src/features/audit/checkChain.ts";
import { sealsText, statedSeals, withoutTexts } from "../../src/features/audit/erasedEntry.ts";
import { eraseEntries } from "../../src/features/audit/eraseEntries.ts";
import { verifyAudit } from "../../src/features/audit/verifyAudit.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { storeSource } from "../../src/operations/backup/storeSource.ts";
import { writeBackup } from "../../src/operations/backup/writeBackup.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { freshDirectory } from "../support/storePlaces.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const clock = createTestClock();
const NAME = "dave_7731";
const source = { actor: { type: "rootkey", id: "rk_1" }, correlationId: "cor_1", now: clock.now(), remoteIp: "192.0.2.7" } as const;
const subject = resource("identity", "id_1");

/** The event of a change that names a person in its description, its resource and what it tells. */
const namingEvent = (): AuditEvent => ({
  ...auditEvent(source, "identity.update", `Updated identity ${NAME}`, resource("identity", "id_1", NAME)),
  changes: [JSON.stringify({ field: "meta", after: { name: NAME } })],
});

describe.each(engines)("[data §4] texts of audit entries on $name", (engine) => {
  let store: Store;
  beforeEach(async () => {
    store = await engine.open();
    return () => store.close();
  });
  afterAll(() => engine.close());

  const log = () => createAuditLogRepository(store);
  const appendIn = (form: number, on = store): AppendEvents =>
    createAppendEvents({ clock, auditLog: createAuditLogRepository(on), knownFormat: async () => form });
  const entries = (): Promise<AuditLogDocument[]> => log().listAfter(0, 500);
  const faults = async () => (await verifyAudit(log())).faults.map(({ sequence, problem }) => `${sequence} ${problem}`);
  const dump = async () => JSON.stringify(await entries());
  const erase = async (sequences: readonly number[], on = store) => {
    const auditLog = createAuditLogRepository(on);
    const chosen = (await auditLog.listAfter(0, 500)).filter(({ sequence }) => sequences.includes(sequence));
    await eraseEntries({ auditLog, append: appendIn(3, on) }, chosen, source, subject);
  };
  /** Two entries of each form. The first of the two names the person. */
  const fill = async () => {
    for (const form of [1, 2, 3]) {
      await appendIn(form)([namingEvent(), auditEvent(source, "api.create", "Created API api_1", resource("api", "api_1", "payments"))]);
    }
  };
  const NAMING = [1, 3, 5];

  test("are gone, the log stays whole under the same hashes, and an event names the entries", async () => {
    await fill();
    const before = await entries();
    await erase(NAMING);
    const after = await entries();
    expect(await dump()).not.toContain(NAME);
    expect(await faults()).toEqual([]);
    expect(after.slice(0, 6).map(({ hash, previousHash }) => [hash, previousHash])).toEqual(
      before.map(({ hash, previousHash }) => [hash, previousHash]),
    );
    expect(after.slice(6).map(({ event }) => [event.event, event.display])).toEqual([
      ["audit.erase", "Erased the texts of 3 entries of the audit log"],
    ]);
    expect(after[0]?.event).toMatchObject({ event: "identity.update", display: "", resources: [{ type: "identity", id: "id_1" }] });
    for (const from of [1, 3, 6]) expect((await checkChain(log(), { from, limit: 3 })).broken).toBeUndefined();
    expect(after[4]).not.toHaveProperty("salt");
  });

  test("that were erased, or are statements, are left alone by a second erasure", async () => {
    await fill();
    await erase(NAMING);
    const before = await entries();
    await erase([...NAMING, 7]);
    expect(await entries()).toEqual(before);
  });

  test("are still there, or gone, after a death at any operation, and gone after the next erasure", async () => {
    await fill();
    for (let at = 0, reached = true; reached; at++) {
      reached = false;
      let operations = 0;
      const dying = interceptStore(store, async (operation) => {
        if (operations++ < at) return operation();
        reached = true;
        throw new StoreUnavailableError("died");
      });
      await erase(NAMING, dying).catch(() => undefined);
      expect(await faults()).toEqual([]);
    }
    expect(await dump()).not.toContain(NAME);
  });

  test("are gone from a backup, whose check follows the statements", async () => {
    await fill();
    await erase(NAMING);
    const back = async () => {
      const file = join(await freshDirectory(), "erased.backup");
      await writeBackup(await storeSource(store, "the test"), file, { product: "test", now: clock.now() });
      return (await checkBackup(file)).fault;
    };
    expect(await back()).toBeUndefined();
    const audit = store.collection("audit");
    const [first] = await entries();
    await audit.updateOne({ _id: first?._id ?? "" }, { $set: { erasure: { statement: "log_none" } } });
    expect(await back()).toBeUndefined();
    await audit.deleteOne({ sequence: 7 });
    expect(await back()).toBe("the texts of entry 1 are gone, and no event of it says so of what is left");
  });

  test("of an early form rest on the statement: a head that was kept since covers the entry and those before it", async () => {
    await fill();
    const heads = (await entries()).map(({ hash }) => hash);
    await erase([5]);
    await erase([3]);
    await erase([1]);
    const uncovered = async (anchor: string | undefined) => {
      const { faults: none, anchored, uncovered: found } = await verifyAudit(log(), { anchor });
      expect([none, anchored]).toEqual([[], anchor === undefined ? undefined : true]);
      return found && [found.sequence, found.statedBy];
    };
    expect(await uncovered(undefined)).toBeUndefined();
    expect(await uncovered("0".repeat(64))).toBeUndefined();
    expect(await uncovered(heads[0])).toEqual([1, 9]);
    expect(await uncovered(heads[1])).toEqual([1, 9]);
    expect(await uncovered(heads[2])).toEqual([3, 8]);
    expect(await uncovered(heads[5])).toEqual([3, 8]);
    const [, , , , , , , eighth, ninth] = await entries();
    expect(await uncovered(eighth?.hash)).toEqual([1, 9]);
    expect(await uncovered(ninth?.hash)).toBeUndefined();
  });

  test("of an early form under a forged statement: an earlier rewrite is reported as not covered by the head", async () => {
    for (let i = 0; i < 2; i++) await appendIn(2)([namingEvent(), namingEvent()]);
    const [, , , fourth, ...rest] = await entries();
    if (fourth === undefined) return expect.unreachable();
    await store.collection("audit").deleteMany({});
    await appendIn(2)([namingEvent(), namingEvent(), namingEvent()]);
    const plain = auditEvent(source, "audit.erase", "Erased the texts of 1 entry of the audit log", subject);
    const erased = withoutTexts({ ...fourth, previousHash: (await entries())[2]?.hash ?? "" }, plain.id);
    await store.collection("audit").insertMany([erased, ...rest]);
    await appendIn(3)([{ ...plain, changes: [sealsText([erased])] }]);
    const verdict = await verifyAudit(log(), { anchor: fourth.hash });
    expect(verdict).toMatchObject({ faults: [], anchored: true, uncovered: { sequence: 4, statedBy: 5 } });
  });

  describe("an attacker who writes to the store is found out", () => {
    const write = async (changed: readonly AuditLogDocument[]) => {
      const audit = store.collection("audit");
      await audit.deleteMany({});
      await audit.insertMany(changed);
    };
    const alter = async (sequence: number, change: (entry: AuditLogDocument) => object) => {
      const whole = await entries();
      await write(whole.map((entry) => (entry.sequence === sequence ? (change(entry) as AuditLogDocument) : entry)));
      const found = await faults();
      await write(whole);
      return found;
    };

    test("who changes the rest of an erased entry", async () => {
      await fill();
      await erase(NAMING);
      const changes: readonly ((entry: AuditLogDocument) => object)[] = [
        (entry) => ({ ...entry, event: { ...entry.event, event: "identity.create" } }),
        (entry) => ({ ...entry, event: { ...entry.event, time: entry.event.time + 1 } }),
        (entry) => ({ ...entry, event: { ...entry.event, actor: { ...entry.event.actor, id: "rk_2" } } }),
        (entry) => ({ ...entry, event: { ...entry.event, remoteIp: "192.0.2.8" } }),
        (entry) => ({ ...entry, event: { ...entry.event, resources: [{ type: "identity", id: "id_2" }] } }),
        (entry) => ({ ...entry, event: { ...entry.event, resources: [{ type: "identity", id: "id_1", name: "other" }] } }),
        (entry) => ({ ...entry, event: { ...entry.event, correlationId: "cor_2" } }),
        (entry) => ({ ...entry, event: { ...entry.event, display: "Updated identity other" } }),
        (entry) => ({ ...entry, event: { ...entry.event, changes: [] } }),
        (entry) => ({ ...entry, erasure: { ...entry.erasure, statement: "log_none" } }),
        (entry) => ({ ...entry, erasure: { ...entry.erasure, digest: "0".repeat(64) } }),
        (entry) => ({ ...entry, hash: "1".repeat(64) }),
        ({ erasure: _, ...entry }) => entry,
      ];
      for (const sequence of NAMING) {
        for (const change of changes) expect((await alter(sequence, change))[0], String(change)).toMatch(new RegExp(`^${sequence} `));
      }
      expect(await faults()).toEqual([]);
    });

    test("who erases texts by hand, or changes the statement", async () => {
      await fill();
      await erase([1, 5]);
      for (const sequence of [2, 4, 6]) {
        const found = await alter(sequence, (entry) => withoutTexts(entry, "log_none"));
        expect(found[0]).toBe(`${sequence} was altered: its texts are gone, and no event audit.erase says so of what is left`);
        const statement = (await entries())[6]?._id ?? expect.unreachable();
        expect((await alter(sequence, (entry) => withoutTexts(entry, statement)))[0]).toMatch(new RegExp(`^${sequence} was altered`));
      }
      const found = await alter(7, (entry) => ({ ...entry, event: { ...entry.event, changes: [] } }));
      expect(found).toHaveLength(3);
      expect(await alter(7, (entry) => ({ ...entry, event: { ...entry.event, event: "api.create" } }))).toHaveLength(3);
    });

    test("who passes an entry of the third form off as an erased one of an earlier form, with a statement of his own", async () => {
      await fill();
      const [entry] = (await entries()).filter(({ sequence }) => sequence === 6);
      if (entry === undefined) return expect.unreachable();
      const plain = auditEvent(source, "audit.erase", "Erased the texts of 1 entry of the audit log", subject);
      const { erasure, ...forged } = withoutTexts({ ...entry, event: { ...entry.event, actor: { type: "system", id: "x" } } }, plain.id);
      const statement = erasure?.statement ?? "";
      const asSecond = { ...forged, format: 2, erasure: { statement } };
      await appendIn(3)([{ ...plain, changes: [sealsText([asSecond])] }]);
      expect(await alter(6, () => asSecond)).toEqual(["6 was altered: its hash is of another form"]);
      // With a hash that does not say so, the next entry does not follow on it.
      const { previousHash, sequence, event } = asSecond;
      const rehashed = { ...asSecond, hash: chainHash(previousHash, sequence, event, 2) };
      expect(await alter(6, () => rehashed)).toContainEqual(expect.stringMatching(/^7 does not follow/));
    });

    test("who inserts a statement of the third form whose hash covers no texts, to change it later", async () => {
      await fill();
      const [first, , , , , last] = await entries();
      if (first === undefined || last === undefined) return expect.unreachable();
      const event = auditEvent(source, "audit.erase", "Erased the texts of 0 entries of the audit log", subject);
      for (const salt of [undefined, "", "short", 7, null] as readonly (string | undefined)[]) {
        const { salt: _, ...rest } = last;
        const planted = { ...rest, _id: event.id, event, ...(salt === undefined ? {} : { salt }) };
        const hashed = (entry: AuditLogDocument) => ({
          ...entry,
          hash: chainHash(entry.previousHash, entry.sequence, entry.event, 3, entry),
        });
        expect(await alter(6, () => hashed(planted))).toEqual(["6 was altered: its hash covers no texts"]);
        const stating = { ...event, changes: [sealsText([withoutTexts(first, event.id)])] };
        expect(statedSeals(hashed({ ...planted, event: stating }))).toEqual(new Map());
      }
    });

    test("who leaves an erased entry of the third form without the digest of its texts", async () => {
      await fill();
      for (const digest of [undefined, "", "ABC"]) {
        const plain = auditEvent(source, "audit.erase", "Erased the texts of 1 entry of the audit log", subject);
        const whole = await entries();
        const last = whole.at(-1) ?? expect.unreachable();
        const erased = withoutTexts(last, plain.id);
        const erasure = { statement: plain.id, ...(digest === undefined ? {} : { digest }) };
        const forged = { ...erased, erasure, hash: chainHash(erased.previousHash, erased.sequence, erased.event, 3, { erasure }) };
        await write([...whole.slice(0, -1), forged]);
        await appendIn(3)([{ ...plain, changes: [sealsText([forged])] }]);
        expect(await faults()).toEqual([`${erased.sequence} was altered: its hash covers no texts`]);
        await write(whole);
      }
    });

    test("who passes the confirmation of a stub off as erased, to change the hash that it names", async () => {
      const hash = "1".repeat(64);
      const dropped = (name: string) => auditEvent(source, "audit.drop", "Dropped", resource("auditLog", "0", name));
      await appendIn(3)([dropped(hash)]);
      const entry = (await entries())[0] ?? expect.unreachable();
      const altered = { ...entry, event: { ...entry.event, resources: [resource("auditLog", "0", "2".repeat(64))] } };
      const { erasure = expect.unreachable() } = withoutTexts(entry, "log_none");
      const breakOf = async (statement: AuditLogDocument, of: string) => {
        const stub = { sequence: 0, hash: of, droppedAt: 0, statement: entry._id };
        return (await breakOfStub({ findEntry: async () => statement }, stub)).broken;
      };
      expect(await breakOf(entry, hash)).toBeUndefined();
      expect(await breakOf({ ...altered, erasure }, "2".repeat(64))).toMatchObject({ sequence: 0 });
    });

    test("before an erasure: what was altered is not made good by it", async () => {
      await fill();
      for (const sequence of [1, 3, 5]) {
        const whole = await entries();
        const altered = whole.map((entry) =>
          entry.sequence === sequence ? { ...entry, event: { ...entry.event, actor: { type: "system", id: "x" } as const } } : entry,
        );
        await write(altered);
        await erase([sequence]);
        expect((await faults())[0]).toMatch(new RegExp(`^${sequence} was altered`));
        await write(whole);
      }
    });
  });
});
