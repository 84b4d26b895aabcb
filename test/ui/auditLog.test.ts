import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { AuditLogSchema } from "../../gen/latchkey/v2/audit_pb.ts";
import { logsRequest, readAuditFilter } from "../../ui/src/pages/audit/auditFilter.ts";
import { changesOf, exportRow } from "../../ui/src/pages/audit/entryTexts.ts";
import { firstPlace, type Place, readBack } from "../../ui/src/pages/audit/readBack.ts";

const hour = 3_600_000;

describe("[console §3] the log is read newest first", () => {
  /** A service with at most five entries per answer. */
  const reader = (times: readonly number[]) => (start: number, end: number) => {
    const inside = times.filter((time) => time >= start && time < end);
    const cut = inside.length > 5 && end - start > 1;
    return Promise.resolve({ entries: cut ? inside.slice(0, 5) : inside, overflows: cut });
  };

  const readAll = async (times: readonly number[], end: number): Promise<number[]> => {
    const found: number[] = [];
    let place: Place | undefined = firstPlace(end);
    while (place !== undefined) {
      const read: Awaited<ReturnType<typeof readBack<number>>> = await readBack(place, 0, 4, reader(times));
      found.push(...read.entries);
      place = read.next;
    }
    return found;
  };

  test.each([
    ["nothing", []],
    ["a busy minute", Array.from({ length: 60 }, (_, index) => 500 * hour + index * 1000)],
    ["more at one time than an answer holds", Array.from({ length: 12 }, () => 7 * hour)],
    ["years between", [0, 1, 3 * hour, 30_000 * hour, 30_000 * hour + 1]],
  ])("every entry once: %s", async (_, times) => {
    expect(await readAll(times, 30_001 * hour)).toEqual(times.toReversed());
  });

  test("it stops when there is enough, and continues from there", async () => {
    const { entries, next } = await readBack(firstPlace(100 * hour), 0, 2, reader([1 * hour, 99.2 * hour, 99.5 * hour]));
    expect(entries).toEqual([99.5 * hour, 99.2 * hour]);
    expect(next).toEqual({ end: 99 * hour, length: hour });
  });
});

test("[console §3] filters are in the URL", () => {
  const filter = readAuditFilter(new URLSearchParams("event=key.update,key.delete&start=0&end=nonsense&actorId=rk_1&resourceType="));
  expect(logsRequest(filter)).toEqual({
    start: "1970-01-01T00:00:00.000Z",
    event: { values: ["key.update", "key.delete"] },
    actorId: "rk_1",
  });
});

describe("[management §4] the changes in an entry", () => {
  const entry = create(AuditLogSchema, {
    auditLogId: "log_1",
    meta: {
      sequence: 7n,
      changes: {
        values: [
          { field: "name", before: "old", after: "new" },
          { field: "expires", after: 1_797_135_349_821 },
          { field: "credits.remaining", by: -5 },
          { field: "key", redacted: true },
          { field: "meta", after: '{"a', truncated: true },
        ],
      },
    },
  });

  test("before and after, for people", () => {
    expect(changesOf(entry)).toEqual([
      { field: "name", before: "old", after: "new" },
      { field: "expires", before: undefined, after: "1797135349821 (2026-12-13 04:15:49 UTC)" },
      { field: "credits.remaining", before: "what it was", after: "5 less" },
      { field: "key", before: "a secret", after: "another secret" },
      { field: "meta", before: undefined, after: '{"a … (cut at 1 KiB)' },
    ]);
    expect(changesOf(create(AuditLogSchema, {}))).toBeUndefined();
  });

  test("an exported row has the shape of /v2", () => {
    expect(exportRow(entry)).toMatchObject({ auditLogId: "log_1", meta: { sequence: 7, changes: [{ field: "name" }, {}, {}, {}, {}] } });
  });
});
