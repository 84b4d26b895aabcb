import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type CommandResult, runCommand } from "../../bench/harness/commandLine.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../src/features/audit/auditMover.ts";
import { chainHash } from "../../src/features/audit/chainHash.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createLeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { testConfig } from "../support/api.ts";
import { places } from "../support/places.ts";

const START = Date.parse("2026-03-01T12:00:00Z");
const MINUTE = 60_000;

/** Events log_1 to log_8, a minute apart. */
const events: readonly AuditEvent[] = Array.from({ length: 8 }, (_, i) => ({
  id: `log_${i + 1}`,
  event: "api.create",
  time: START + i * MINUTE,
  actor: { type: "rootkey", id: "rk_1", name: "deployer" },
  display: `Created API api_${i + 1}`,
  remoteIp: "192.0.2.7",
  userAgent: "curl/8",
  resources: [{ type: "api", id: `api_${i + 1}`, name: "payments" }],
  correlationId: `cor_${i + 1}`,
}));

/** The entry with another event, and the hash that it would have had. */
const forged = (entry: AuditLogDocument, event: AuditEvent): AuditLogDocument => ({
  ...entry,
  event,
  hash: chainHash(entry.previousHash, entry.sequence, event, entry.format, entry),
});

/** A manual change to the log, and the report of `audit verify`. */
interface Attack {
  readonly does: string;
  readonly to: (log: readonly AuditLogDocument[]) => readonly AuditLogDocument[];
  /** The reported entries in order, each with a part of its complaint. */
  readonly found: readonly (readonly [string, string])[];
}

const withEvent = (change: (event: AuditEvent) => object) => (log: readonly AuditLogDocument[]) =>
  log.map((entry) => (entry.sequence === 4 ? { ...entry, event: change(entry.event) as AuditEvent } : entry));
const altered: Attack["found"] = [["entry 4 (log_4)", "was altered"]];

const attacks: readonly Attack[] = [
  ...(
    [
      ["what happened", (event) => ({ ...event, event: "api.delete" })],
      ["when", (event) => ({ ...event, time: event.time + 1 })],
      ["who did it", (event) => ({ ...event, actor: { ...event.actor, id: "rk_2" } })],
      ["the actor's name", (event) => ({ ...event, actor: { ...event.actor, name: "somebody" } })],
      ["the text", (event) => ({ ...event, display: "Nothing" })],
      ["the address", ({ remoteIp: _, ...event }) => event],
      ["the user agent", (event) => ({ ...event, userAgent: "" })],
      ["a resource", (event) => ({ ...event, resources: [...event.resources, { type: "api", id: "api_9" }] })],
      ["the correlation id", (event) => ({ ...event, correlationId: "cor_9" })],
      ["a field that events do not have", (event) => ({ ...event, approvedBy: "rk_2" })],
      ["such a field of the actor", (event) => ({ ...event, actor: { ...event.actor, role: "admin" } })],
      ["such a field of a resource", (event) => ({ ...event, resources: event.resources.map((each) => ({ ...each, note: "x" })) })],
    ] satisfies [string, (event: AuditEvent) => object][]
  ).map(([what, change]) => ({ does: `changes an event: ${what}`, to: withEvent(change), found: altered })),
  {
    does: "changes an event and its hash",
    to: (log) => log.map((entry) => (entry.sequence === 4 ? forged(entry, { ...entry.event, display: "Nothing" }) : entry)),
    found: [["entry 5 (log_5)", "does not follow on the entry before it"]],
  },
  {
    does: "removes an event",
    to: (log) => log.filter(({ sequence }) => sequence !== 4),
    found: [
      ["entry 5 (log_5)", "number 5 where 4 was expected"],
      ["entry 5 (log_5)", "does not follow"],
    ],
  },
  {
    does: "removes the first events",
    to: (log) => log.slice(2),
    found: [
      ["entry 3 (log_3)", "number 3 where 1 was expected"],
      ["entry 3 (log_3)", "does not follow"],
    ],
  },
  {
    does: "removes an event and closes the gap in the numbers",
    to: (log) =>
      log
        .filter(({ sequence }) => sequence !== 7)
        .map((entry) => (entry.sequence > 7 ? { ...entry, sequence: entry.sequence - 1 } : entry)),
    found: [
      ["entry 7 (log_8)", "does not follow"],
      ["entry 7 (log_8)", "was altered"],
    ],
  },
  {
    does: "changes the order of two events",
    to: (log) =>
      log.map((entry) => {
        const other = entry.sequence === 4 ? log[4] : entry.sequence === 5 ? log[3] : undefined;
        return other ? { ...entry, _id: other._id, event: other.event } : entry;
      }),
    found: [
      ["entry 4 (log_5)", "was altered"],
      ["entry 5 (log_4)", "was altered"],
    ],
  },
  {
    does: "inserts an event",
    to: (log) => {
      const before = log[3];
      if (before === undefined) return log;
      const event = { ...before.event, id: "log_forged" };
      return [...log, { ...forged({ ...before, previousHash: before.hash, sequence: 4.5 }, event), _id: event.id }];
    },
    found: [
      ["entry 4.5 (log_forged)", "number 4.5 where 5 was expected"],
      ["entry 5 (log_5)", "number 5 where 5.5 was expected"],
      ["entry 5 (log_5)", "does not follow"],
    ],
  },
  {
    does: "inserts an event before the first",
    to: (log) => log.flatMap((entry) => (entry.sequence === 1 ? [{ ...entry, _id: "log_0", sequence: 0 }, entry] : [entry])),
    found: [
      ["entry 0 (log_0)", "number 0 where 1 was expected"],
      ["entry 0 (log_0)", "filed under the id of another event"],
      ["entry 0 (log_0)", "was altered"],
      ["entry 1 (log_1)", "does not follow"],
    ],
  },
];

describe.each(places)("[protocol §11] the log on $name", ({ name, open, close }) => {
  let env: Record<string, string>;
  let store: Store;
  let whole: readonly AuditLogDocument[];
  const replace = async (log: readonly AuditLogDocument[]): Promise<void> => {
    await store.collection("audit").deleteMany({});
    await store.collection("audit").insertMany(log);
  };
  beforeAll(async () => {
    env = await open();
    store = await openStore({ ...testConfig(env), clock: systemClock, mode: "server" });
    await store.prepare();
    for (const event of events) {
      const id = event.resources[0]?.id ?? "";
      await store.collection("apis").insertOne({ ...newDocument(id, event.time, [event]), name: "payments" });
    }
    await createAuditMover({ clock: systemClock, auditLog: createAuditLogRepository(store), leases: createLeasesRepository(store) }).run();
    whole = await store
      .collection("audit")
      .find({}, { sort: { sequence: 1 } })
      .toArray();
    expect(whole.map(({ _id }) => _id)).toEqual(events.map(({ id }) => id));
  });
  afterEach(() => replace(whole));
  afterAll(async () => {
    await store.close();
    await close(env);
  });
  const audit = (...args: string[]): Promise<CommandResult> => runCommand(["audit", ...args], env);
  const headOf = ({ printed }: CommandResult): string => /head ([0-9a-f]{64})$/.exec(printed[0] ?? "")?.[1] ?? "";

  test("an untouched log is whole, and its head is shown", async () => {
    const result = await audit("verify");
    expect(result).toEqual({
      code: 0,
      complained: [],
      printed: [`8 entries, 0 pending, head ${whole.at(-1)?.hash}`, "The log is whole."],
    });
  });

  // Hashes do not depend on the engine: one check of them on another engine is enough.
  const here = attacks.filter(({ does, found }) => name === "embedded" || found !== altered || does.endsWith(": what happened"));

  test.each(here)("$does: audit verify names it", async ({ to, found }) => {
    await replace(to(whole));
    const { code, printed, complained } = await audit("verify");
    expect(complained).toHaveLength(found.length);
    for (const [i, [entry, problem]] of found.entries()) {
      expect(complained[i]).toContain(`${entry} `);
      expect(complained[i]).toContain(problem);
    }
    expect([code, printed.at(-1)]).toEqual([1, `The log is NOT whole: ${found.length} faults.`]);
  });

  test("a truncated or rewritten log is detected by a head that was kept elsewhere", async () => {
    const head = headOf(await audit("verify"));
    expect((await audit("verify", "--head", head)).code).toBe(0);
    await replace(whole.slice(0, -2));
    expect((await audit("verify")).code).toBe(0);
    const cut = await audit("verify", "--head", head);
    expect(cut).toMatchObject({ code: 1, complained: [expect.stringContaining(head)] });
    expect(cut.printed.at(-1)).toContain("NOT whole");
    // All of it forged, in itself consistent.
    const anew: AuditLogDocument[] = [];
    for (const entry of whole) {
      anew.push(forged({ ...entry, previousHash: anew.at(-1)?.hash ?? entry.previousHash }, { ...entry.event, display: "Nothing" }));
    }
    await replace(anew);
    expect((await audit("verify")).code).toBe(0);
    expect((await audit("verify", "--head", head)).code).toBe(1);
  });

  test("a kept head is still found when the log has grown; a malformed hash is refused", async () => {
    const head = headOf(await audit("verify"));
    const last = whole.at(-1) ?? expect.unreachable();
    const event = { ...last.event, id: "log_9" };
    await replace([...whole, { ...forged({ ...last, previousHash: last.hash, sequence: 9 }, event), _id: event.id }]);
    expect(await audit("verify", "--head", head)).toMatchObject({ code: 0, complained: [] });
    expect((await audit("verify", "--head", "latest")).code).toBe(2);
  });

  test("[management §4] that was dropped up to an entry is whole from there, says so, and is exported from there", async () => {
    const head = headOf(await audit("verify"));
    const [, , third] = whole;
    if (third === undefined) expect.unreachable();
    const last = whole.at(-1) ?? expect.unreachable();
    const statement = {
      ...last.event,
      ...{ id: "log_9", event: "audit.drop", resources: [{ type: "auditLog", id: "3", name: third.hash }] },
    };
    const auditLog = createAuditLogRepository(store);
    await replace([...whole.slice(3), { ...forged({ ...last, previousHash: last.hash, sequence: 9 }, statement), _id: "log_9" }]);
    await auditLog.setStub({ sequence: 3, hash: third.hash, droppedAt: START, statement: "log_9" });
    try {
      const { code, complained, printed } = await audit("verify", "--head", head);
      expect({ code, complained }).toEqual({ code: 0, complained: [] });
      expect(printed[0]).toContain("6 entries");
      expect(printed.join("\n")).toContain(`number 3 (hash ${third.hash}) were dropped, the last of them at 2026-03-01T12:00:00.000Z`);
      expect(await audit("verify", "--head", third.hash)).toMatchObject({ code: 0 });
      const older = await audit("verify", "--head", whole[0]?.hash ?? "");
      expect(older).toMatchObject({ code: 1, complained: [expect.stringContaining("dropped")] });
      expect((await audit("export")).printed.map((line) => JSON.parse(line).sequence)).toEqual([4, 5, 6, 7, 8, 9]);
    } finally {
      await store.collection("system").deleteOne({ _id: "auditStub" });
    }
  });

  test("is exported as JSON lines, oldest first, from a date on if wanted", async () => {
    const all = await audit("export");
    expect(all).toMatchObject({ code: 0, complained: [] });
    expect(all.printed.map((line) => JSON.parse(line))).toEqual(
      whole.map(({ sequence, event, format, hash }) => ({ sequence, ...event, format, hash })),
    );
    const exported = async (since: string) => (await audit("export", "--since", since)).printed.map((line) => JSON.parse(line).id);
    expect(await exported("2026-03-01T12:05:00Z")).toEqual(["log_6", "log_7", "log_8"]);
    expect(await exported("2026-03-01T12:05:00.001Z")).toEqual(["log_7", "log_8"]);
    expect(await exported("2026-03-02")).toEqual([]);
    expect(await exported("2026-03-01")).toHaveLength(8);
    expect((await audit("export", "--since", "yesterday")).code).toBe(2);
  });
});
