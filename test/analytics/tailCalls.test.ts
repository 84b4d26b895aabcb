import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { EngineError, EngineUnavailableError } from "../../src/features/analytics/engineErrors.ts";
import type { JsonObject } from "../../src/features/analytics/json.ts";
import { createTail, type TailCall, type TailOptions } from "../../src/features/analytics/tail/createTail.ts";
import { systemClock } from "../../src/platform/base/clock.ts";

/** Asks a table that holds one event of each of two APIs, and takes no notice of conditions. */
const setUp = (overrides: Partial<TailOptions> = {}) => {
  let seq = 0;
  const statements: string[] = [];
  const tail = createTail({
    clock: systemClock,
    database: "latchkey",
    ready: async () => undefined,
    isIsolated: async () => true,
    querySeconds: 10,
    execute: async (sql): Promise<JsonObject[]> => {
      statements.push(sql);
      if (sql.includes("system.tables")) return [{ id: "6f0c" }];
      if (!sql.includes("AS branch")) return [{ writer: "w", first: 1, last: ++seq * 2, count: seq * 2 }];
      return ["api_a", "api_b"].map((key_space_id, i) => ({ key_space_id, time: 2 - i, writer: "w", seq: seq * 2 - 1 + i, branch: 0 }));
    },
    ...overrides,
  });
  const call = (fields: Partial<TailCall> = {}) =>
    tail.follow({
      ...{ kind: "verifications", filter: {}, cursor: "", waitMs: 0, limit: 100, scope: undefined, rootKeyId: "rk" },
      ...{ signal: new AbortController().signal, onWait: () => undefined },
      ...fields,
    });
  return { tail, call, statements };
};

describe("[management §6] tail", () => {
  test("shows nothing of another API, even if the engine did", async () => {
    const { call, statements } = setUp();
    const { cursor } = await call({ scope: ["api_b"] });
    const { events } = await call({ scope: ["api_b"], cursor });
    expect(events).toEqual([{ key_space_id: "api_b", time: 1 }]);
    expect(statements.at(-1)).toContain("key_space_id IN ['api_b']");
    const all = await call({ cursor });
    expect(all.events.map(({ time }) => time)).toEqual([1, 2]);
  });

  test("[management §8] without a cursor it shows what comes after the call, however long it takes to begin", async () => {
    let last = 1;
    let proof: Promise<boolean> = Promise.resolve(true);
    const rows = (sql: string) => {
      const above = Number(/seq > (\d+)/.exec(sql)?.[1] ?? 0);
      return Array.from({ length: last - above }, (_, i) => ({ writer: "w", seq: above + i + 1 }));
    };
    const { call } = setUp({
      isIsolated: () => proof,
      execute: async (sql): Promise<JsonObject[]> => {
        if (sql.includes("system.tables")) return [{ id: "6f0c" }];
        if (sql.includes("AS branch")) return rows(sql).map((row) => ({ ...row, key_space_id: "api_a", time: row.seq, branch: 0 }));
        const [first] = rows(sql);
        return first === undefined ? [] : [{ writer: "w", first: first.seq, last, count: last - first.seq + 1 }];
      },
    });
    expect((await call()).events).toEqual([]);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    proof = promise;
    const following = call({ scope: ["api_a"] });
    last = 3;
    await sleep(1);
    resolve(true);
    expect((await following).events.map(({ time }) => time)).toEqual([2, 3]);
  });

  test("a cursor tells nothing of the events of others", async () => {
    const { cursor } = await setUp().call();
    expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toMatch(/"w"|\d{6}/);
    expect((await setUp().call()).cursor).not.toBe(cursor);
  });

  test("refuses scoped root keys with 412 where the engine does not keep them to their ids, and no others", async () => {
    const { call } = setUp({ isIsolated: async () => false });
    await expect(call({ scope: ["api_a"] })).rejects.toMatchObject({ reason: "analytics_not_configured" });
    expect((await call()).events).toEqual([]);
  });

  test.each([
    [new EngineUnavailableError("away"), "analytics_connection_failed"],
    [new EngineError(159, "late"), "query_execution_timeout"],
    [new EngineError(241, "large"), "query_memory_limit_exceeded"],
  ])("%s of the engine is %s", async (error, reason) => {
    const { call } = setUp({ execute: async () => Promise.reject(error) });
    await expect(call({ waitMs: 20_000 })).rejects.toMatchObject({ reason });
  });

  test("a statement of ours that the engine does not take is no fault of the caller's", async () => {
    const error = new EngineError(62, "syntax");
    await expect(setUp({ execute: async () => Promise.reject(error) }).call()).rejects.toBe(error);
  });

  test("a client that vanishes frees its place at once, also while the store does not answer", async () => {
    const { call } = setUp({ ready: () => new Promise(() => undefined) });
    const leaving = new AbortController();
    const waiting = Array.from({ length: 10 }, () => call({ waitMs: 20_000, signal: leaving.signal }));
    await expect(call({ waitMs: 20_000 })).rejects.toMatchObject({ reason: "tail_limit_exceeded" });
    leaving.abort(new Error("gone"));
    expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(Array(10).fill("rejected"));
    const next = new AbortController();
    const again = call({ waitMs: 20_000, signal: next.signal });
    next.abort(new Error("gone as well"));
    await expect(again).rejects.toThrow("gone as well");
  });

  test("a call begins to wait only once it is returned, and none that does not wait", async () => {
    const { call, tail } = setUp();
    const order: string[] = [];
    const waiting = call({ waitMs: 20_000, onWait: () => order.push("waits") });
    order.push("returned");
    await call({ onWait: () => order.push("never") });
    await sleep(1);
    expect(order).toEqual(["returned", "waits"]);
    tail.endWaiting();
    await waiting;
    await call({ waitMs: 20_000, onWait: () => order.push("never") });
    expect(order).toHaveLength(2);
  });
});
