import type { Clock } from "../../../platform/base/clock.ts";
import { invalidInput, ServiceError } from "../../../platform/base/errors.ts";
import { createFairShares } from "../../../platform/fairness/fairShares.ts";
import type { KeyRing } from "../../../platform/secrets/keyRing.ts";
import { EngineError } from "../engineErrors.ts";
import type { Execution } from "../execution.ts";
import type { JsonObject } from "../json.ts";
import { orAborted } from "../orAborted.ts";
import { requireIsolation } from "../queries.ts";
import { isOfStatement, toQueryError } from "../queryErrors.ts";
import { oneOfCondition, tagsCondition } from "../usage/filterSql.ts";
import { type UsageField, type UsageKind, type UsageQuestion, usageKinds } from "../usage/question.ts";
import { createPoller, type Poller } from "./poller.ts";
import { cursorKeyRing, openPosition, sealPosition } from "./tailCursor.ts";
import { createTailSql } from "./tailSql.ts";

/** Who may wait at the same time on one node (management §6). */
const WAITING = { each: 10, all: 100 };
/** How long a cursor may stand still: what it has not read is there for twice as long. */
const CURSOR_MS = 10 * 60_000;

export interface TailCall {
  readonly kind: UsageQuestion["kind"];
  readonly filter: UsageQuestion["filter"];
  /**
   * Of the answer before; "": all that reaches analytics after the call, and up to 5 s before it. Where nobody has followed in
   * the last 5 s it begins with the first look, some ms after the call, or once the engine has started and its proof is done.
   */
  readonly cursor: string;
  readonly waitMs: number;
  readonly limit: number;
  /** Ids whose events the caller may see; undefined = all. */
  readonly scope: readonly string[] | undefined;
  /** Whose place it takes when it waits. */
  readonly rootKeyId: string;
  readonly signal: AbortSignal;
  /** Called when it begins to wait. */
  readonly onWait: () => void;
}

export interface Tailed {
  /** The columns of the raw table. */
  readonly events: JsonObject[];
  readonly cursor: string;
  readonly dropped: number;
}

export interface Tail {
  /** Fails with 400 for a cursor that is unknown or expired, 429 when too many wait, and 412, 422 and 503 as queries do. */
  readonly follow: (call: TailCall) => Promise<Tailed>;
  /** From now on nobody waits; those who do get their answer. */
  readonly endWaiting: () => void;
}

export interface TailOptions {
  /** The same on all nodes, and nobody's to turn. */
  readonly clock: Clock;
  readonly database: string;
  /** Resolves when the tables are there. */
  readonly ready: () => Promise<void>;
  /** Whether the engine keeps scoped queries to their scope. */
  readonly isIsolated: () => Promise<boolean>;
  readonly execute: Execution["execute"];
  readonly querySeconds: number;
}

/** What all who follow one kind of events share. */
interface Source {
  readonly kind: UsageKind;
  readonly poller: Poller;
  /** Of the cursors; asked for once. */
  readonly key: (signal: AbortSignal) => Promise<KeyRing>;
}

const badCursor = (): Error => {
  const message = "is unknown, belongs to another filter, or has expired";
  return invalidInput(`cursor ${message}.`, [{ location: "body.cursor", message, fix: "Start again without a cursor." }]);
};

const tooMany = (): Error =>
  new ServiceError(
    "tail_limit_exceeded",
    `At most ${WAITING.each} calls of a root key wait at the same time, and ${WAITING.all} on one node. Try again when one has its answer.`,
  );

const conditionsOf = (
  { columns, scopeField }: UsageKind,
  filter: TailCall["filter"],
  scope: readonly string[] | undefined,
): readonly string[] => {
  const given = Object.entries(filter) as [UsageField, readonly (string | boolean)[]][];
  return [
    ...(scope === undefined ? [] : [oneOfCondition(columns[scopeField] ?? "0", scope)]),
    ...given.map(([field, values]) => (field === "tag" ? tagsCondition : oneOfCondition)(columns[field] ?? "0", values)),
  ];
};

/** The events as they reach analytics (management §6). */
export const createTail = ({ clock, database, ready, isIsolated, execute, querySeconds }: TailOptions): Tail => {
  const places = createFairShares({ capacity: WAITING.all, overdraft: 0, most: [WAITING.each] });
  let isEnding = false;

  const openSource = (kind: UsageKind): Source => {
    const sql = createTailSql(database, kind.dataset);
    let found: KeyRing | undefined;
    return {
      kind,
      poller: createPoller({ clock, now: clock.now, sql, execute }),
      key: async (signal) => {
        const [table] = found === undefined ? await execute(sql.identity, signal) : [];
        if (table !== undefined) found = cursorKeyRing(String(table.id));
        if (found === undefined) throw new Error("the table that tails read is not there");
        return found;
      },
    };
  };
  const sources = { verifications: openSource(usageKinds.verifications), ratelimits: openSource(usageKinds.ratelimits) };

  const read = async (call: TailCall, waitMs: number): Promise<Tailed> => {
    const { cursor, limit, scope, signal, onWait } = call;
    const { kind, poller, key: findKey } = sources[call.kind];
    const arrived = cursor === "" ? poller.arrive() : undefined;
    if (waitMs > 0) {
      // Only once its promise is returned does the call count among those in work.
      await Promise.resolve();
      onWait();
    }
    await ready();
    if (scope !== undefined) await requireIsolation(isIsolated);
    const key = await findKey(signal);
    const owner = JSON.stringify([call.kind, Object.entries(call.filter).sort(([a], [b]) => (a < b ? -1 : 1))]);
    const from = cursor === "" ? arrived : openPosition(key, owner, cursor);
    if (cursor !== "" && (from === undefined || clock.now() - from.readAt > CURSOR_MS)) throw badCursor();
    const conditions = conditionsOf(kind, call.filter, scope);
    const { rows, position, dropped } = await poller.follow({ from, conditions, limit, waitMs: isEnding ? 0 : waitMs, signal });
    const seen = scope && new Set(scope);
    const events = rows
      // What the engine was told already.
      .filter((row) => seen === undefined || seen.has(String(row[kind.dataset.scopeColumn])))
      .map(({ writer, seq, branch, ...event }) => event)
      .sort((a, b) => Number(a.time) - Number(b.time));
    return { events, cursor: sealPosition(key, owner, position), dropped };
  };

  return {
    follow: async (call) => {
      const { signal } = call;
      const waitMs = isEnding ? 0 : call.waitMs;
      const place = waitMs > 0 ? places.take([call.rootKeyId], 1) : undefined;
      if (waitMs > 0 && place === undefined) throw tooMany();
      try {
        return await orAborted(read(call, waitMs), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof EngineError && isOfStatement(error)) throw error;
        throw toQueryError(error, { querySeconds, database, secrets: [] });
      } finally {
        place?.give();
      }
    },
    endWaiting: () => {
      isEnding = true;
      for (const { poller } of Object.values(sources)) poller.endWaiting();
    },
  };
};
