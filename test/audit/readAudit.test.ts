import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { readAudit } from "../../src/features/audit/readAudit.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { engines } from "../support/stores.ts";

describe.each(engines)("on $name", (engine) => {
  let store: Store;
  beforeEach(async () => {
    store = await engine.open();
    return () => store.close();
  });
  afterAll(() => engine.close());

  const fill = (numbers: readonly number[]) =>
    createAuditLogRepository(store).append(
      numbers.map((sequence) => ({ _id: `event_${sequence}`, workspaceId: "ws_default", sequence }) as unknown as AuditLogDocument),
    );
  /** Reads everything. Returns the entries, and the ranges of the reads, those without an end first. */
  const readAll = async () => {
    const ranges: { $gt: number; $lte?: number }[] = [];
    const watched = interceptStore(store, (operation, { collection, filter }) => {
      if (collection === "audit") ranges.push((filter as { sequence: { $gt: number } }).sequence);
      return operation();
    });
    const found: number[] = [];
    for await (const { sequence } of readAudit(createAuditLogRepository(watched))) found.push(sequence);
    return { found, open: ranges.filter(({ $lte }) => $lte === undefined) };
  };
  const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);

  test("[protocol §11] a log is read by ranges of a page, and without an end only behind the last one", async () => {
    await fill(from(1, 1_200));
    expect(await readAll()).toEqual({ found: from(1, 1_200), open: [{ $gt: 1_000 }] });
  });

  test("[protocol §11] entries that are missing, and numbers below one, hide none", async () => {
    const numbers = [-7, 0, ...from(1, 300), ...from(2_000, 700), 1e15];
    await fill(numbers);
    expect((await readAll()).found).toEqual(numbers);
  });
});
