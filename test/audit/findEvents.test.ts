import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuditFilter, matchesFilter } from "../../src/features/audit/auditFilter.ts";
import { type AuditIndexRepository, BLOCK, createAuditIndexRepository } from "../../src/features/audit/auditIndexRepository.ts";
import { type AuditLogRepository, createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { type FindEventsDeps, type FoundEvents, findEvents } from "../../src/features/audit/findEvents.ts";
import { indexAudit } from "../../src/features/audit/indexAudit.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";

const BLOCKS = 6;
const ENTRIES = BLOCKS * BLOCK + 230;

/** Mostly the same actor and event; some of both are rare, some only at the beginning or the end; times are out of order. */
const entry = (sequence: number): AuditLogDocument => ({
  _id: `log_${sequence}`,
  v: SCHEMA_VERSION,
  workspaceId: WORKSPACE_ID,
  sequence,
  hash: `h${sequence}`,
  previousHash: `h${sequence - 1}`,
  event: {
    id: `log_${sequence}`,
    event: sequence % 700 === 0 ? "key.delete" : sequence % 3 === 0 ? "key.update" : "key.create",
    time: 10_000 + sequence * 10 - (sequence % 400 === 0 ? 9_000 : 0),
    actor: { type: "rootkey", id: sequence % 450 === 0 ? "rk_rare" : sequence > ENTRIES - 100 ? "rk_late" : "rk_busy" },
    display: "",
    resources: [
      { type: "key", id: `key_${sequence % 1_000}` },
      ...(sequence % 5 === 0 ? [{ type: "api", id: `key_${(sequence + 1) % 1_000}` }] : []),
    ],
    correlationId: `cor_${Math.floor(sequence / 4)}`,
  },
});
const entries = Array.from({ length: ENTRIES }, (_, i) => entry(i + 1));

describe.each(engines)("[management §4] the audit log on $name", (engine) => {
  let store: Store;
  let auditLog: AuditLogRepository;
  let auditIndex: AuditIndexRepository;
  beforeAll(async () => {
    store = await engine.open();
    auditLog = createAuditLogRepository(store);
    auditIndex = createAuditIndexRepository(store);
    for (let i = 0; i < ENTRIES; i += 500) await store.collection("audit").insertMany(entries.slice(i, i + 500));
  });
  afterAll(async () => {
    await engine.close();
  });

  /** Follows the cursor to the end, and looks at each page. */
  const follow = async (deps: FindEventsDeps, filter: AuditFilter, limit: number, look: (page: FoundEvents) => void = () => undefined) => {
    const found: number[] = [];
    for (let after = 0; ; ) {
      const page = await findEvents(deps, filter, { after, limit });
      look(page);
      expect(page.entries.length).toBeLessThanOrEqual(limit);
      found.push(...page.entries.map(({ sequence }) => sequence));
      if (!page.hasMore) return { found, after: page.after };
      expect(page.after).toBeGreaterThan(after);
      after = page.after;
    }
  };
  const expected = (filter: AuditFilter): number[] =>
    entries.filter(({ event }) => matchesFilter(filter, event)).map(({ sequence }) => sequence);

  const filters = fc.record(
    {
      start: fc.integer({ min: 0, max: 10_000 + ENTRIES * 10 }),
      end: fc.integer({ min: 0, max: 10_000 + ENTRIES * 10 + 1 }),
      event: fc.uniqueArray(fc.constantFrom("key.create", "key.update", "key.delete", "api.none"), { minLength: 1 }),
      actorId: fc.constantFrom("rk_busy", "rk_rare", "rk_late", "rk_none", ""),
      resourceType: fc.constantFrom("key", "api", "role"),
      resourceId: fc.integer({ min: 0, max: 1_001 }).map((i) => `key_${i}`),
      correlationId: fc.integer({ min: 0, max: ENTRIES }).map((i) => `cor_${i}`),
    },
    { requiredKeys: [] },
  );

  /** How far the index has come makes no difference to what is found. */
  const expectAll = () =>
    fc.assert(
      fc.asyncProperty(filters, fc.constantFrom(1, 7, 100, 500), async (filter, limit) => {
        const { found, after } = await follow({ auditLog, auditIndex }, filter, limit === 1 && !filter.resourceId ? 7 : limit);
        expect(found).toEqual(expected(filter));
        // Entries that do not match were read past, too.
        expect(after).toBe(ENTRIES);
      }),
      { numRuns: sized(15, 150) },
    );

  test("every filter finds what matches, each entry once and in order, before anything is indexed", expectAll, 120_000);

  test("blocks are indexed as they become whole, in rounds, and again after an interruption", async () => {
    expect(await auditIndex.indexed()).toBe(0);
    let steps = 0;
    await indexAudit({ auditLog, auditIndex }, () => steps++ < 2);
    expect(await auditIndex.indexed()).toBe(2 * BLOCK);
    // Half of the rows of the third were written when a node died.
    const broken = createAuditIndexRepository({
      ...store,
      collection: (name) => {
        const collection = store.collection(name);
        let inserts = 0;
        const insertMany: typeof collection.insertMany = (documents) => {
          if (++inserts > 1) throw new Error("died");
          return collection.insertMany(documents);
        };
        return Object.assign(Object.create(collection), { insertMany });
      },
    });
    await expect(indexAudit({ auditLog, auditIndex: broken })).rejects.toThrow("died");
    expect(await auditIndex.indexed()).toBe(2 * BLOCK);
    // Two nodes are at it at once.
    await Promise.all([indexAudit({ auditLog, auditIndex }), indexAudit({ auditLog, auditIndex })]);
    await indexAudit({ auditLog, auditIndex });
    expect(await auditIndex.indexed()).toBe(BLOCKS * BLOCK);
  });

  test("every filter finds the same when the log is indexed", expectAll, 120_000);

  test("a page looks at a bounded number of rows, and what is rare is found without looking at what is not", async () => {
    let rows = 0;
    const counting = <T extends object>(repository: T): T =>
      new Proxy(repository, {
        get: (target, name) => {
          const method: unknown = Reflect.get(target, name);
          if (typeof method !== "function") return method;
          return async (...args: unknown[]) => {
            const result: unknown = await method.apply(target, args);
            rows += Array.isArray(result) ? result.length : 1;
            return result;
          };
        },
      });
    const deps = { auditLog: counting(auditLog), auditIndex: counting(auditIndex) };
    const look = (): void => {
      expect(rows).toBeLessThanOrEqual(1_000 + 2 * BLOCK);
      rows = 0;
    };
    // In every block, but never together.
    await follow(deps, { actorId: "rk_busy", resourceType: "role" }, 100, look);
    await follow(deps, { event: ["key.create"], resourceType: "api", start: 0 }, 100, look);
    await follow(deps, { resourceType: "key", resourceId: "key_none" }, 100, look);
    await findEvents(deps, { actorId: "rk_busy", correlationId: "cor_3" }, { after: 0, limit: 100 });
    // Four entries, the rows of the index that lead there, and what is not indexed yet.
    expect(rows).toBeLessThanOrEqual(4 + BLOCKS + 10 + 230);
    rows = 0;
    const late = await findEvents(deps, { start: 10_000 + ENTRIES * 10 }, { after: 0, limit: 100 });
    expect(late.entries.map(({ sequence }) => sequence)).toEqual([ENTRIES]);
    expect(rows).toBeLessThanOrEqual(2 * BLOCKS + 230 + 2);
  }, 60_000);

  test("a hundred names of events make at most eight concurrent reads, with other filters too", async () => {
    let [running, most, calls] = [0, 0, 0];
    const watched: AuditIndexRepository = {
      ...auditIndex,
      find: async (...args) => {
        most = Math.max(most, ++running);
        calls++;
        const rows = await auditIndex.find(...args);
        // Reads that end in the turn they began in never overlap: wait a turn.
        await turn();
        running--;
        return rows;
      },
    };
    const names = Array.from({ length: 99 }, (_, i) => `none.${i}`);
    const filter: AuditFilter = { event: [...names, "key.delete"], actorId: "rk_busy", resourceType: "key", start: 0 };
    const { found } = await follow({ auditLog, auditIndex: watched }, filter, 500);
    expect(found).toEqual(expected(filter));
    expect(calls).toBeGreaterThan(100);
    expect(most).toBe(8);
  });

  test("a follower does not go past an entry that becomes visible after one with a higher number", async () => {
    // Read while two entries were added: the scan had passed the place of the first.
    let reads = 0;
    const racing: AuditLogRepository = {
      ...auditLog,
      listAfter: async (...args) => {
        const page = await auditLog.listAfter(...args);
        return ++reads === 1 ? page.filter(({ sequence }) => sequence !== 3) : page;
      },
    };
    const { entries: found } = await findEvents({ auditLog: racing, auditIndex }, {}, { after: 0, limit: 5 });
    expect(found.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
    // Reads of dropped entries block no caller.
    const gone: AuditLogRepository = {
      ...auditLog,
      listAfter: async (...args) => (await auditLog.listAfter(...args)).filter(({ sequence }) => sequence > 10 && sequence !== 13),
    };
    const rest = await findEvents({ auditLog: gone, auditIndex }, {}, { after: 0, limit: 50 });
    expect(rest.entries.map(({ sequence }) => sequence).slice(0, 3)).toEqual([11, 12, 14]);
  });
});
