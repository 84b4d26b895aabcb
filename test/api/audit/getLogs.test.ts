import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createAuditLogRepository } from "../../../src/features/audit/auditLogRepository.ts";
import { type AuditMover, createAuditMover } from "../../../src/features/audit/auditMover.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { expectInvalid } from "../../support/rootKeys.ts";

interface Shown {
  readonly auditLogId: string;
  readonly time: string;
  readonly insertedAt: string;
  readonly event: string;
  readonly correlationId: string;
  readonly actor: { readonly id: string };
  readonly resources: readonly { readonly type: string; readonly id: string }[];
  readonly meta: { readonly sequence: number; readonly hash: string; readonly previousHash: string };
}

interface Page {
  readonly data: readonly Shown[];
  readonly hasMore: boolean;
  readonly cursor: string;
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ID = /^log_[a-zA-Z0-9]+$/;

const moverOf = (store: Store): AuditMover =>
  createAuditMover({
    clock: systemClock,
    auditLog: createAuditLogRepository(store),
    leases: { acquire: async () => true, release: async () => undefined },
  });

everywhere((run) => {
  const read = async (body: object = {}): Promise<Page> => {
    const answer = await run.call("audit.getLogs", body);
    const data = dataOf(answer) as unknown as Shown[];
    const { hasMore, cursor } = answer.body.pagination as { hasMore: boolean; cursor: string };
    expect(cursor).toMatch(/^.{1,1024}$/);
    return { data, hasMore, cursor };
  };
  /** All pages. */
  const follow = async (body: object, limit = 500, cursor = ""): Promise<{ data: Shown[]; cursor: string }> => {
    const data: Shown[] = [];
    for (let at = cursor; ; ) {
      const page = await read({ ...body, limit, cursor: at });
      expect(page.data.length).toBeLessThanOrEqual(limit);
      data.push(...page.data);
      at = page.cursor;
      if (!page.hasMore) return { data, cursor: at };
    }
  };
  /** Makes an actor whose events no other test adds to. */
  const actor = async () => {
    const { keyId, key } = await run.data("rootKeys.createKey", {
      permissions: ["api.*.create_api", "api.*.delete_api"],
      name: run.unique("actor"),
    });
    const create = async (): Promise<string> =>
      (await run.data("apis.createApi", { name: run.unique("api") }, key as string)).apiId as string;
    const remove = (apiId: string) => run.data("apis.deleteApi", { apiId }, key as string);
    return { actorId: keyId as string, create, remove };
  };
  const appear = (body: object, count: number): Promise<unknown> =>
    expect.poll(async () => (await follow(body)).data.length, { timeout: 5_000, interval: 50 }).toBe(count);
  /** Moves them at once instead of waiting until the service does. */
  const seen = async (body: object, count: number): Promise<Shown[]> => {
    await moverOf(run.api.store).run();
    await appear(body, count);
    return (await follow(body)).data;
  };

  test("[management §4] an event is shown whole, within five seconds of its change", async () => {
    const before = Date.now();
    const { actorId, create } = await actor();
    const apiId = await create();
    await appear({ actorId }, 1);
    const [event] = await seen({ actorId }, 1);
    expect(event).toEqual({
      auditLogId: expect.stringMatching(ID),
      version: "v1",
      time: expect.stringMatching(ISO),
      insertedAt: expect.stringMatching(ISO),
      event: "api.create",
      description: expect.stringContaining(apiId),
      outcome: "success",
      source: "platform",
      actor: { type: "rootkey", id: actorId, name: expect.stringContaining("actor") },
      resources: [{ type: "api", id: apiId, name: expect.any(String) }],
      // Some clients say a user agent.
      context: expect.objectContaining({ ipAddress: expect.any(String) }),
      correlationId: expect.stringMatching(/^cor_/),
      meta: {
        sequence: expect.any(Number),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        previousHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    const [time, insertedAt] = [Date.parse(event?.time ?? ""), Date.parse(event?.insertedAt ?? "")];
    expect(time).toBeGreaterThanOrEqual(before);
    expect(insertedAt).toBeGreaterThanOrEqual(time);
  });

  test("[management §4] events come ascending in the order of the chain, gap-free, whatever the limit", async () => {
    const { actorId, create } = await actor();
    for (let i = 0; i < 5; i++) await create();
    await seen({ actorId }, 5);
    const { data: all } = await follow({});
    expect(all.map(({ meta }) => meta.sequence)).toEqual(all.map((_, i) => i + 1));
    for (const [i, { meta }] of all.entries()) expect(meta.previousHash).toBe(all[i - 1]?.meta.hash ?? "0".repeat(64));
    const few = await follow({ actorId }, 2);
    expect(few.data).toEqual(all.filter((event) => event.actor.id === actorId));
    const byDefault = await read();
    expect(byDefault.data).toEqual(all.slice(0, 100));
  });

  test("[management §4] the cursor of the last page is there, and finds what is written after it, each event once", async () => {
    const { actorId, create } = await actor();
    const first = await follow({ actorId });
    expect(first.data).toEqual([]);
    let { cursor } = first;
    const found: Shown[] = [];
    for (let round = 0; round < 2; round++) {
      const made = [await create()];
      // Events of two documents in one millisecond have no fixed order.
      await sleep(2);
      made.push(await create());
      await seen({ actorId }, 2 * (round + 1));
      const next = await follow({ actorId }, 500, cursor);
      expect(next.data.map(({ resources }) => resources[0]?.id)).toEqual(made);
      found.push(...next.data);
      cursor = next.cursor;
      // Nothing came: the same place.
      expect((await follow({ actorId }, 500, cursor)).data).toEqual([]);
    }
    expect((await follow({ actorId })).data).toEqual(found);
    // A page that is exactly full is the last one.
    expect(await read({ actorId, limit: 4 })).toMatchObject({ hasMore: false });
    expect(await read({ actorId, limit: 3 })).toMatchObject({ hasMore: true });
  });

  test("[management §8] a filtered follower's cursor moves past what does not match", async () => {
    const { actorId, create } = await actor();
    await create();
    await seen({ actorId }, 1);
    const filter = { actorId, event: ["api.delete"] };
    const before = await follow(filter);
    await create();
    await seen({ actorId }, 2);
    const after = await follow(filter, 500, before.cursor);
    expect(after.data).toEqual([]);
    expect(after.cursor).not.toBe(before.cursor);
  });

  test("[management §4] every filter finds what it says, and all together what all of them say", async () => {
    const { actorId, create, remove } = await actor();
    const apiIds = [await create(), await create(), await create()];
    const [gone = ""] = apiIds;
    await remove(gone);
    const all = await seen({ actorId }, 4);
    const same = async (body: object, expected: readonly Shown[]) =>
      expect([body, (await follow(body)).data.map(({ auditLogId }) => auditLogId)]).toEqual([
        body,
        expected.map((event) => event.auditLogId),
      ]);
    const last = all.slice(3);
    await same({ actorId, event: ["api.delete"] }, last);
    await same({ actorId, event: ["api.delete", "api.create", "api.delete", "none"] }, all);
    await same({ actorId, event: ["API.delete", "api.delete ", "api"] }, []);
    await same({ resourceId: gone }, [...all.slice(0, 1), ...last]);
    await same({ resourceId: gone, event: ["api.delete"], resourceType: "api", actorId, correlationId: last[0]?.correlationId }, last);
    await same({ resourceId: gone, resourceType: "key" }, []);
    await same({ actorId, resourceType: "api" }, all);
    await same({ actorId, resourceType: "key" }, []);
    await same({ correlationId: last[0]?.correlationId }, last);
    await same({ actorId: actorId.slice(0, -1) }, []);
    await same({ actorId: "😀".repeat(255) }, []);
  });

  test("[management §8] start is inclusive, end exclusive, in any offset; equal ones find nothing", async () => {
    const { actorId, create } = await actor();
    for (let i = 0; i < 3; i++) {
      await create();
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    const all = await seen({ actorId }, 3);
    const middle = all[1]?.time ?? "";
    const times = async (body: object) => (await follow({ actorId, ...body })).data.map(({ time }) => time);
    expect(await times({ start: middle })).toEqual(all.slice(1).map(({ time }) => time));
    expect(await times({ end: middle })).toEqual(all.slice(0, 1).map(({ time }) => time));
    const later = new Date(Date.parse(middle) + 1).toISOString();
    expect(await times({ start: middle, end: later })).toEqual([middle]);
    expect(await times({ start: middle.replace("Z", "+00:00"), end: later.replace("Z", "-00:00") })).toEqual([middle]);
    // One ten-thousandth of a second later it had happened already.
    expect(await times({ start: middle.replace("Z", "1Z"), end: later })).toEqual([]);
    expect(await times({ end: middle.replace("Z", "1Z"), start: middle })).toEqual([middle]);
    expect(await times({ start: middle, end: middle })).toEqual([]);
  });

  test("[management §8] a start after the end, and what is no time, are 400 at their places", async () => {
    expectInvalid(await run.call("audit.getLogs", { start: "2026-01-02T00:00:00Z", end: "2026-01-01T23:59:59.999Z" }), "body.end");
    for (const time of ["", "yesterday", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00"]) {
      expectInvalid(await run.call("audit.getLogs", { start: time, end: time }), "body.start", "body.end");
    }
  });

  test("[management §8] everything that is wrong with a request is named at once", async () => {
    const times = { start: "yesterday", end: "tomorrow" };
    expectInvalid(await run.call("audit.getLogs", { ...times, cursor: "x" }), "body.start", "body.end", "body.cursor");
    const [start, end] = ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"];
    expectInvalid(await run.call("audit.getLogs", { limit: 0, start, end, actorId: "" }), "body.limit", "body.actorId", "body.end");
    expectInvalid(await run.call("audit.getLogs", { limit: 501, start: "x", cursor: "x" }), "body.limit", "body.start", "body.cursor");
  });

  test("[management §4, §8] bounds of every field", async () => {
    const accepted = [
      { limit: 1 },
      { limit: 500 },
      { cursor: "" },
      { event: ["e"] },
      { event: Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(128, "e")) },
      ...["actorId", "resourceType", "resourceId", "correlationId"].flatMap((field) => [{ [field]: "x" }, { [field]: "é".repeat(255) }]),
    ];
    for (const body of accepted) await read(body);
    const refused: readonly (readonly [object, string])[] = [
      [{ limit: 0 }, "body.limit"],
      [{ limit: 501 }, "body.limit"],
      [{ cursor: "x".repeat(1_025) }, "body.cursor"],
      [{ event: [] }, "body.event"],
      [{ event: [""] }, "body.event[0]"],
      [{ event: ["e".repeat(129)] }, "body.event[0]"],
      // Clients of gRPC would need a message that their own codec refuses to make; the validator's tests have those.
      ...(run.edge === "v2" ? [[{ event: Array.from({ length: 101 }, (_, i) => `${i}`) }, "body.event"] as const] : []),
      ...["actorId", "resourceType", "resourceId", "correlationId"].flatMap((field) =>
        ["", "x".repeat(256)].map((value) => [{ [field]: value }, `body.${field}`] as const),
      ),
    ];
    for (const [body, place] of refused) expectInvalid(await run.call("audit.getLogs", body), place);
  });

  test("[management §4] a cursor that is damaged, foreign or of other filters is 400", async () => {
    const { cursor } = await read({ limit: 1 });
    const filtered = (await read({ limit: 1, actorId: "rk_1", event: ["a", "b"] })).cursor;
    const damaged = [
      "x",
      " ",
      ".",
      "0",
      "-1.",
      `${cursor}x`,
      cursor.slice(0, -1),
      `1${cursor}`,
      `-${cursor}`,
      "NaN.x",
      "log_1",
      "é😀\u0000",
      "x".repeat(1_024),
    ];
    for (const each of [...damaged, filtered]) expectInvalid(await run.call("audit.getLogs", { cursor: each }), "body.cursor");
    expectInvalid(await run.call("audit.getLogs", { actorId: "rk_1", event: ["a"], cursor: filtered }), "body.cursor");
    expectInvalid(await run.call("audit.getLogs", { start: "2026-01-01T00:00:00Z", cursor }), "body.cursor");
    // The same filters in other words, and another limit.
    await read({ limit: 7, actorId: "rk_1", event: ["b", "a", "b"], cursor: filtered });
  });

  test("[management §4] asks for audit.*.read_audit_log, and for nothing else", async () => {
    const keyWith = async (...permissions: string[]) => (await run.data("rootKeys.createKey", { permissions })).key as string;
    const reader = await keyWith("audit.*.read_audit_log");
    const other = await keyWith("api.*.read_api", "node.*.read_node");
    for (const procedure of ["audit.getLogs", "audit.verifyChain"]) {
      expect((await run.call(procedure, {}, reader)).status).toBe(200);
      const { detail } = expectError(await run.call(procedure, {}, other), 403, "unkey/authorization/insufficient_permissions");
      expect(detail).toContain("audit.*.read_audit_log");
    }
    expectInvalid(await run.call("rootKeys.createKey", { permissions: ["audit.log_1.read_audit_log"] }), "body.permissions[0]");
  });

  test("[management §4] reading the log, and checking it, leaves nothing in it", async () => {
    const { data } = await follow({ event: ["audit.getLogs", "audit.verifyChain"] });
    expect(data).toEqual([]);
    const { keyId, key } = await run.data("rootKeys.createKey", { permissions: ["audit.*.read_audit_log"] });
    await run.data("audit.getLogs", {}, key as string);
    await run.data("audit.verifyChain", {}, key as string);
    expect((await follow({ actorId: keyId })).data).toEqual([]);
  });
});
