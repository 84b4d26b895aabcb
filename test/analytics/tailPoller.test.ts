import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AnswerTooLargeError, EngineError, EngineUnavailableError } from "../../src/features/analytics/engineErrors.ts";
import type { JsonObject } from "../../src/features/analytics/json.ts";
import type { Place } from "../../src/features/analytics/tail/heads.ts";
import { createPoller, type Found, type Reader } from "../../src/features/analytics/tail/poller.ts";
import type { Branch, TailSql } from "../../src/features/analytics/tail/tailSql.ts";
import { systemClock } from "../../src/platform/base/clock.ts";

interface Row {
  readonly writer: string;
  readonly seq: number;
}

type Question =
  | { readonly heads: readonly (readonly [string, number])[] }
  | { readonly stretches: readonly string[] }
  | { readonly rows: readonly Branch[] };

/** Statements that say what they ask. */
const sql: TailSql = {
  identity: "",
  heads: (beyond: Place = new Map()) => JSON.stringify({ heads: [...beyond] }),
  stretches: (writers) => JSON.stringify({ stretches: writers }),
  rows: (branches) => JSON.stringify({ rows: branches }),
};

/** A table in memory. */
const setUp = ({ bytes = Number.POSITIVE_INFINITY } = {}) => {
  const table: Row[] = [];
  const statements: Question[] = [];
  let fail: Error | undefined;
  let failing: readonly [string, Error] | undefined;
  let held: Promise<void> | undefined;
  const extent = (rows: readonly Row[]) => {
    const seqs = rows.map(({ seq }) => seq);
    return { writer: rows[0]?.writer ?? "", first: Math.min(...seqs), last: Math.max(...seqs), count: rows.length };
  };
  const byWriter = (rows: readonly Row[]): Row[][] => [...Map.groupBy(rows, ({ writer }) => writer).values()];
  const find = (question: Question): JsonObject[] => {
    if ("heads" in question) {
      const beyond = new Map(question.heads);
      return byWriter(table.filter(({ writer, seq }) => seq > (beyond.get(writer) ?? 0))).map(extent);
    }
    if ("stretches" in question) {
      return byWriter(table.filter(({ writer }) => question.stretches.includes(writer))).flatMap((rows) =>
        Map.groupBy(
          rows.toSorted((a, b) => a.seq - b.seq).map((row, i) => ({ ...row, shift: row.seq - i })),
          ({ shift }) => shift,
        )
          .values()
          .map(extent)
          .toArray(),
      );
    }
    return question.rows.flatMap(({ ranges, limit, conditions }, branch) =>
      table
        .flatMap((row) => {
          const range = ranges.find(({ writer, base, upper }) => writer === row.writer && row.seq > base && row.seq <= upper);
          return range && (conditions.length === 0 || conditions.includes(row.writer)) ? [{ ...row, distance: row.seq - range.base }] : [];
        })
        .sort((a, b) => a.distance - b.distance || (a.writer < b.writer ? -1 : 1))
        .slice(0, limit)
        .map(({ writer, seq }) => ({ writer, seq, branch })),
    );
  };
  const poller = createPoller({
    clock: systemClock,
    now: systemClock.now,
    sql,
    execute: async (statement, signal) => {
      const question = JSON.parse(statement) as Question;
      statements.push(question);
      await held;
      signal.throwIfAborted();
      if (fail) throw fail;
      if (failing && "rows" in question && question.rows.some(({ conditions }) => conditions.includes(failing?.[0] ?? "")))
        throw failing[1];
      const found = find(question);
      if (found.length > bytes) throw new AnswerTooLargeError(bytes);
      return found;
    },
  });
  return {
    table,
    statements,
    poller,
    fail: (error: Error | undefined) => (fail = error),
    failFor: (condition: string, error: Error) => (failing = [condition, error]),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    insert: (writer: string, ...seqs: number[]) => void table.push(...seqs.map((seq) => ({ writer, seq }))),
    follow: (reader: Partial<Reader> = {}): Promise<Found> =>
      poller.follow({ from: undefined, conditions: [], limit: 100, waitMs: 0, signal: new AbortController().signal, ...reader }),
  };
};

const seqs = ({ rows }: Found): string[] => rows.map(({ writer, seq }) => `${writer}${seq}`);

describe("[management §6] a follower", () => {
  test("without a position sees the events that come after the call, and then continues", async () => {
    const { insert, follow } = setUp();
    insert("a", 1, 2, 3);
    const start = await follow();
    expect([seqs(start), start.dropped]).toEqual([[], 0]);
    insert("a", 4);
    insert("b", 1, 2);
    const next = await follow({ from: start.position });
    expect(seqs(next)).toEqual(["a4", "b1", "b2"].sort((a, b) => Number(a[1]) - Number(b[1]) || (a < b ? -1 : 1)).sort());
    expect(seqs(await follow({ from: next.position }))).toEqual([]);
  });

  test("gets what comes while he waits, as soon as it is there", async () => {
    const { insert, follow } = setUp();
    const waiting = follow({ waitMs: 20_000 });
    await sleep(50);
    insert("a", 1);
    expect(seqs(await waiting)).toEqual(["a1"]);
  });

  test("sees every event exactly once, for any order and size of batches", async () => {
    const batch = fc.record({ writer: fc.constantFrom("a", "b", "c"), size: fc.integer({ min: 1, max: 7 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 9 }), async (batches, limit) => {
        const { insert, follow, table } = setUp();
        let { position } = await follow();
        const last = new Map<string, number>();
        const seen: string[] = [];
        const read = async (): Promise<number> => {
          const found = await follow({ from: position, limit });
          position = found.position;
          seen.push(...seqs(found));
          expect([found.dropped, found.rows.length <= limit]).toEqual([0, true]);
          return found.rows.length;
        };
        for (const { writer, size } of batches) {
          const from = last.get(writer) ?? 0;
          insert(writer, ...Array.from({ length: size }, (_, i) => from + i + 1));
          last.set(writer, from + size);
          await read();
        }
        while ((await read()) > 0);
        expect(seen.toSorted()).toEqual(table.map(({ writer, seq }) => `${writer}${seq}`).sort());
      }),
      { numRuns: 8 },
    );
  });

  test("moves past what his filter leaves out", async () => {
    const { insert, follow, statements } = setUp();
    const start = await follow();
    insert("a", 1, 2, 3);
    const next = await follow({ from: start.position, conditions: ["b"] });
    expect([seqs(next), next.position.place.get("a")]).toEqual([[], 3]);
    statements.length = 0;
    await follow({ from: next.position, conditions: ["b"] });
    expect(statements).toEqual([{ heads: [["a", 3]] }]);
  });

  test("all writers advance at the same pace, so none waits for one that never stops", async () => {
    const { insert, follow } = setUp();
    const { position } = await follow();
    insert("a", 1, 2, 3, 4, 5, 6);
    insert("b", 1, 2);
    const first = await follow({ from: position, limit: 4 });
    expect(seqs(first).sort()).toEqual(["a1", "a2", "b1", "b2"]);
    expect(seqs(await follow({ from: first.position, limit: 4 }))).toEqual(["a3", "a4", "a5", "a6"]);
  });

  test("learns how many events were lost", async () => {
    const { insert, follow } = setUp();
    insert("a", 1);
    const { position } = await follow();
    insert("a", 2, 5, 6);
    // Rows that are missing are waited for.
    const next = await follow({ from: position, waitMs: 20_000 });
    expect([seqs(next), next.dropped]).toEqual([["a2", "a5", "a6"], 2]);
    expect((await follow({ from: next.position })).dropped).toBe(0);
  });

  test("grows no older while he gets on, however far behind", async () => {
    const { insert, follow } = setUp();
    let { position } = await follow();
    for (let i = 1; i <= 3; i++) {
      await sleep(5);
      insert("a", 2 * i - 1, 2 * i);
      const behind = await follow({ from: position, limit: 1 });
      expect(seqs(behind)).toEqual([`a${i}`]);
      expect(behind.position.readAt).toBeGreaterThan(position.readAt);
      ({ position } = behind);
    }
  });

  test("calls again and again, waiting or not, and all rows' heads are read once", async () => {
    const { insert, follow, poller, statements } = setUp();
    insert("a", 1);
    let { position } = await follow();
    for (let seq = 2; seq < 8; seq++) {
      insert("a", seq);
      const found = await follow({ from: position, waitMs: seq % 2 === 0 ? 0 : 20_000 });
      expect(seqs(found)).toEqual([`a${seq}`]);
      ({ position } = found);
    }
    expect(statements.filter((statement) => "heads" in statement && statement.heads.length === 0)).toHaveLength(1);
    expect(poller.arrive()?.place.get("a")).toBe(7);
  });

  test("starts at the position of the latest poll", async () => {
    const { insert, follow, poller } = setUp();
    insert("a", 1);
    expect(poller.arrive()).toBe(undefined);
    await follow();
    const from = poller.arrive();
    insert("a", 2);
    expect(seqs(await follow({ from }))).toEqual(["a2"]);
  });
});

describe("[management §6] many who follow", () => {
  test("share each look: one statement for where the writers are, one for the rows of all", async () => {
    const { insert, follow, statements } = setUp();
    const { position } = await follow();
    insert("a", 1, 2);
    statements.length = 0;
    const readers = Array.from({ length: 20 }, (_, i) => follow({ from: position, waitMs: 20_000, limit: i + 1 }));
    const found = await Promise.all(readers);
    expect(found.map(({ rows }) => rows.length)).toEqual([1, ...Array(19).fill(2)]);
    expect(statements).toHaveLength(2);
  });

  test("ask in several statements when they are many, and in smaller pieces when the rows are large", async () => {
    const { insert, follow, statements } = setUp({ bytes: 10 });
    const { position } = await follow();
    insert("a", ...Array.from({ length: 40 }, (_, i) => i + 1));
    const found = await Promise.all(Array.from({ length: 30 }, () => follow({ from: position, waitMs: 20_000, limit: 30 })));
    expect(found.map(({ rows }) => rows.length)).toEqual(Array(30).fill(8));
    expect(statements.filter((statement) => "rows" in statement && statement.rows.length > 25)).toEqual([]);
    expect(seqs(await follow({ from: found[0]?.position, limit: 5 }))).toEqual(["a9", "a10", "a11", "a12", "a13"]);
  });

  test("a row that is larger than anything is an error, not a loop", async () => {
    const { insert, follow } = setUp({ bytes: 0 });
    const { position } = { position: { readAt: Date.now(), place: new Map([["a", 0]]) } };
    await expect(follow({ from: position })).resolves.toMatchObject({ rows: [] });
    insert("a", 1);
    await expect(follow({ from: position })).rejects.toThrow(AnswerTooLargeError);
  });

  test.each([159, 241, 158])("a reader whose query exceeds the engine's limits (%i) fails alone", async (code) => {
    const { insert, follow, failFor } = setUp();
    const { position } = await follow();
    failFor("heavy", new EngineError(code, "too much"));
    insert("a", 1);
    const conditions = (i: number): string[] => (i === 7 ? ["heavy"] : []);
    const found = Array.from({ length: 30 }, (_, i) => follow({ from: position, waitMs: 20_000, conditions: conditions(i) }));
    const settled = await Promise.allSettled(found);
    expect(settled.map((each) => (each.status === "fulfilled" ? seqs(each.value) : each.reason.code))).toEqual(
      found.map((_, i) => (i === 7 ? code : ["a1"])),
    );
  });

  test("all readers get the error of a failed poll, and the next calls poll again", async () => {
    const { follow, fail } = setUp();
    fail(new EngineUnavailableError("away"));
    const both = await Promise.allSettled([follow(), follow({ waitMs: 20_000 })]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    fail(undefined);
    expect(seqs(await follow())).toEqual([]);
  });
});

describe("[management §6] waiting ends", () => {
  test("when the time is up, also under a look that does not end", async () => {
    const { follow, hold } = setUp();
    const { position } = await follow();
    const release = hold();
    const found = await follow({ from: position, waitMs: 30 });
    expect([found.rows, found.position]).toEqual([[], position]);
    release();
  });

  test("at once when the node stops, with the position as it was", async () => {
    const { follow, poller } = setUp();
    const { position } = await follow();
    const waiting = [follow({ from: position, waitMs: 20_000 }), follow({ waitMs: 20_000 })];
    await sleep(20);
    poller.endWaiting();
    expect((await Promise.all(waiting)).map(({ rows }) => rows)).toEqual([[], []]);
  });

  test("when the caller goes; nothing is read any more when the last one has gone", async () => {
    const { follow, statements } = setUp();
    const leaving = new AbortController();
    const waiting = follow({ waitMs: 20_000, signal: leaving.signal });
    await sleep(50);
    leaving.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    const { length } = statements;
    expect(length).toBeGreaterThan(0);
    await sleep(1_200);
    expect(statements).toHaveLength(length);
    await expect(follow({ signal: leaving.signal })).rejects.toThrow("gone");
  });

  test("a reader that arrives while the last one leaves is served", async () => {
    const { insert, follow, hold } = setUp();
    insert("a", 5, 6);
    const release = hold();
    const leaving = new AbortController();
    const waiting = follow({ waitMs: 20_000, signal: leaving.signal });
    await sleep(20);
    leaving.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    const next = follow();
    release();
    expect((await next).position.place.get("a")).toBe(6);
  });
});
