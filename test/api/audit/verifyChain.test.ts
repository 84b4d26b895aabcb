import { beforeAll, describe, expect, test, vi } from "vitest";
import { createAuditLogRepository } from "../../../src/features/audit/auditLogRepository.ts";
import { withoutTexts } from "../../../src/features/audit/erasedEntry.ts";
import type { AuditLogDocument } from "../../../src/platform/storage/port/documents.ts";
import { everywhere } from "../../support/everywhere.ts";
import { expectInvalid } from "../../support/rootKeys.ts";

everywhere((run) => {
  const verify = (body: object = {}) => run.data("audit.verifyChain", body);
  const entries = (): Promise<AuditLogDocument[]> => createAuditLogRepository(run.api.store).listAfter(0, 500);

  describe("a log of a few entries", () => {
    beforeAll(async () => {
      const before = (await entries()).length;
      for (let i = 0; i < 8; i++) await run.createApi();
      await vi.waitUntil(async () => (await entries()).length >= before + 8, { timeout: 5_000 });
    });

    /** Tampers with the log until `check` has run. */
    const tampered = async (change: (log: readonly AuditLogDocument[]) => readonly AuditLogDocument[], check: () => Promise<void>) => {
      const whole = await entries();
      const audit = run.api.store.collection("audit");
      const replace = async (log: readonly AuditLogDocument[]) => {
        await audit.deleteMany({});
        await audit.insertMany(log);
      };
      await replace(change(whole));
      try {
        await check();
      } finally {
        await replace(whole);
      }
    };
    const edit = (sequence: number, change: (entry: AuditLogDocument) => AuditLogDocument) => (log: readonly AuditLogDocument[]) =>
      log.map((entry) => (entry.sequence === sequence ? change(entry) : entry));

    test("[management §4] an untouched chain is intact, with the hash of its head", async () => {
      const log = await entries();
      const head = { sequence: log.length, hash: log.at(-1)?.hash };
      expect(await verify()).toEqual({ checked: log.length, fromSequence: 1, toSequence: log.length, intact: true, head });
      expect(await verify({ fromSequence: 3, limit: 2 })).toEqual({ checked: 2, fromSequence: 3, toSequence: 4, intact: true, head });
    });

    test("[management §8] the caller continues at toSequence + 1, up to the end and beyond", async () => {
      const length = (await entries()).length;
      let checked = 0;
      for (let from = 1; ; ) {
        const part = await verify({ fromSequence: from, limit: 3 });
        expect(part).toMatchObject({ fromSequence: from, intact: true });
        if (part.checked === 0) {
          expect(part.toSequence).toBe(length);
          break;
        }
        checked += part.checked as number;
        from = (part.toSequence as number) + 1;
      }
      expect(checked).toBe(length);
      const far = { checked: 0, fromSequence: length + 50, toSequence: length + 49, intact: true };
      expect(await verify({ fromSequence: length + 50 })).toMatchObject(far);
    });

    test("[management §4] an altered event is named with the hash that its content has, and the one that was found", async () => {
      const [, , , fourth] = await entries();
      await tampered(
        edit(4, (entry) => ({ ...entry, event: { ...entry.event, display: "Nothing" } })),
        async () => {
          const broken = { sequence: 4, expected: expect.stringMatching(/^[0-9a-f]{64}$/), found: fourth?.hash };
          const answer = await verify();
          expect(answer).toMatchObject({ intact: false, broken, checked: (await entries()).length });
          expect((answer.broken as { expected: string }).expected).not.toBe(fourth?.hash);
          expect(await verify({ fromSequence: 4, limit: 1 })).toMatchObject({ intact: false, broken });
          expect(await verify({ limit: 3 })).toMatchObject({ intact: true, toSequence: 3 });
          expect(await verify({ fromSequence: 5 })).toMatchObject({ intact: true });
        },
      );
      expect(await verify()).toMatchObject({ intact: true });
    });

    test("[management §4] an event that is none any more is named, and the rest of the log is listed", async () => {
      await tampered(
        edit(4, (entry) => ({ ...entry, event: { ...entry.event, resources: undefined as never } })),
        async () => {
          const broken = { sequence: 4, expected: "an event", found: "what is no event" };
          expect(await verify()).toMatchObject({ intact: false, broken, checked: (await entries()).length });
          const listed = (await run.data("audit.getLogs", { limit: 500 })) as unknown as readonly unknown[];
          expect(listed).toHaveLength((await entries()).length);
          await run.data("audit.getLogs", { limit: 500, resourceType: "api" });
        },
      );
    });

    test("[management §4] changes that its hash does not cover are not shown of an entry", async () => {
      await tampered(
        edit(4, ({ format: _, ...entry }) => ({ ...entry, event: { ...entry.event, changes: ['{"field":"name","after":"forged"}'] } })),
        async () => {
          expect(await verify()).toMatchObject({ intact: false, broken: { sequence: 4 } });
          expect(JSON.stringify(await run.data("audit.getLogs", { limit: 500 }))).not.toContain("forged");
        },
      );
    });

    test("[management §4] an entry that does not follow is named with the hash of the one before it", async () => {
      const [, , third] = await entries();
      await tampered(
        edit(4, (entry) => ({ ...entry, previousHash: "f".repeat(64) })),
        async () => {
          expect(await verify()).toMatchObject({
            intact: false,
            broken: { sequence: 4, expected: third?.hash, found: "f".repeat(64) },
          });
        },
      );
    });

    test("[management §4] an entry that is missing is named by its number, from wherever the check begins", async () => {
      await tampered(
        (log) => log.filter(({ sequence }) => sequence !== 4),
        async () => {
          const broken = { sequence: 4, expected: "sequence 4", found: "sequence 5" };
          expect(await verify()).toMatchObject({ intact: false, broken });
          expect(await verify({ fromSequence: 4 })).toMatchObject({ intact: false, broken });
          expect(await verify({ fromSequence: 5 })).toMatchObject({ intact: false, broken: { ...broken, found: "nothing" } });
          expect(await verify({ fromSequence: 6 })).toMatchObject({ intact: true });
        },
      );
      await tampered(
        (log) => log.slice(1),
        async () => {
          const broken = { sequence: 1, expected: "sequence 1", found: "sequence 2" };
          expect(await verify()).toMatchObject({ intact: false, broken });
        },
      );
    });

    test("[management §4] an entry before the first, between two, and a field that no event has are named", async () => {
      await tampered(
        (log) => [{ ...(log[0] as AuditLogDocument), _id: "log_before", sequence: -3 }, ...log],
        async () => expect(await verify()).toMatchObject({ intact: false, broken: { sequence: -3, expected: "sequence 1" } }),
      );
      await tampered(
        (log) => [{ ...(log[2] as AuditLogDocument), _id: "log_between", sequence: 3.5 }, ...log],
        async () => expect(await verify()).toMatchObject({ intact: false, broken: { sequence: 3, found: "sequence 3.5" } }),
      );
      await tampered(
        edit(4, (entry) => ({ ...entry, event: { ...entry.event, approvedBy: "rk_2" } as typeof entry.event })),
        async () =>
          expect(await verify()).toMatchObject({
            intact: false,
            broken: { sequence: 4, expected: "no other fields", found: "approvedBy" },
          }),
      );
    });

    test("[data §4] entries without texts are counted, and those of them that no hash covers", async () => {
      const erased = (entry: AuditLogDocument) => withoutTexts(entry, "log_none");
      const older = ({ salt: _, ...entry }: AuditLogDocument) => erased({ ...entry, format: 2 });
      await tampered(
        (log) => edit(4, older)(edit(3, erased)(log)),
        async () => {
          expect(await verify()).toMatchObject({ erased: { entries: 2, unhashed: 1 } });
          expect(await verify({ fromSequence: 3, limit: 1 })).toMatchObject({ erased: { entries: 1, unhashed: 0 } });
          expect(await verify({ fromSequence: 5 })).not.toHaveProperty("erased");
        },
      );
    });

    test("[management §8] an empty chain has head sequence 0, and is intact", async () => {
      await tampered(
        () => [],
        async () => {
          const head = { sequence: 0, hash: "0".repeat(64) };
          expect(await verify()).toEqual({ checked: 0, fromSequence: 1, toSequence: 0, intact: true, head });
        },
      );
    });
  });

  test("[management §4] bounds of fromSequence and limit", async () => {
    for (const body of [{ fromSequence: 1 }, { fromSequence: 9_007_199_254_740_991 }, { limit: 1 }, { limit: 100_000 }]) await verify(body);
    for (const fromSequence of [0, -1]) expectInvalid(await run.call("audit.verifyChain", { fromSequence }), "body.fromSequence");
    for (const limit of [0, 100_001]) expectInvalid(await run.call("audit.verifyChain", { limit }), "body.limit");
  });
});
