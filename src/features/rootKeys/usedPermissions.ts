import { type Action, type Caller, formatPermission, type Grants } from "../../platform/authorization/authorization.ts";
import type { HandOut } from "../../platform/base/handOut.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { createRounds } from "../../platform/util/rounds.ts";

const HOUR_MS = 3_600_000;
const FLUSH_EVERY_MS = 5_000;
/** Root keys of one store write: few enough to end well within an operation's time. */
const CHUNK = 50;
/** What is not written so long after the stop began is given up: it tells no more than what somebody did within the hour. */
const STOP_WITHIN_MS = 5_000;

/** Times of uses in Unix ms, by stored permission. */
export type Uses = ReadonlyMap<string, number>;

/** The caller of one call: what it was found to be permitted counts as used once the call has succeeded. */
export interface CallerOfCall extends Caller {
  readonly succeed: () => void;
}

/** Which of their permissions root keys use (management §5), written behind the answers. */
export interface UsedPermissions {
  /** @param now arrival of the call, Unix ms. */
  readonly open: (caller: Caller, now: number) => CallerOfCall;
  readonly start: () => void;
  /** Writes what is not written yet; nothing is begun any more once that takes 5 s. */
  readonly stop: () => Promise<void>;
}

export interface UsedPermissionsOptions {
  /** Gets at most 50 root keys. What it could not write is tried again. @param options its signal ends the attempt */
  readonly write: (uses: ReadonlyMap<string, Uses>, options: { readonly signal: AbortSignal }) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Between two writes, in milliseconds; 5 s unless told. */
  readonly flushEvery?: number | undefined;
}

/**
 * Of each permission the first use of an hour is noted, and written within some 5 s; the further ones of that hour cost
 * a look into a map.
 */
export const createUsedPermissions = ({ write, onError, flushEvery = FLUSH_EVERY_MS }: UsedPermissionsOptions): UsedPermissions => {
  /** What was noted in this hour, by root key and action: ids of grants. */
  const noted = new Map<string, Map<Action, Set<string>>>();
  let notedIn = 0;
  const unwritten = new Map<string, Map<string, number>>();

  const isNoted = (rootKeyId: string, action: Action, id: string, now: number): boolean =>
    notedIn === Math.floor(now / HOUR_MS) && noted.get(rootKeyId)?.get(action)?.has(id) === true;

  const add = (rootKeyId: string, permission: string, now: number): void => {
    const uses = unwritten.getOrInsertComputed(rootKeyId, () => new Map<string, number>());
    uses.set(permission, Math.max(now, uses.get(permission) ?? 0));
  };

  const note = (rootKeyId: string, action: Action, id: string, now: number): void => {
    if (isNoted(rootKeyId, action, id, now)) return;
    const hour = Math.floor(now / HOUR_MS);
    if (hour === notedIn - 1) {
      // It began before the hour and ended after it: what is noted of this hour stays.
      add(rootKeyId, formatPermission({ action, id }), now);
      return;
    }
    if (hour !== notedIn) noted.clear();
    notedIn = hour;
    const actions = noted.getOrInsertComputed(rootKeyId, () => new Map<Action, Set<string>>());
    actions.getOrInsertComputed(action, () => new Set<string>()).add(id);
    add(rootKeyId, formatPermission({ action, id }), now);
  };

  /** One is made per call, on the way of every verification, hence a class: its members are shared. */
  class Calling implements CallerOfCall {
    readonly rootKeyId: string;
    readonly name: string | undefined;
    readonly expires: number | undefined;
    readonly grants: Grants;
    readonly isPerson?: true;
    readonly onHandedOut?: (handOut: HandOut) => void;
    readonly #now: number;
    /** Actions and ids of grants in turn; made when there is one that is not noted yet. */
    #used: [Action, string][] | undefined;

    readonly #known: Caller;

    constructor(known: Caller, now: number) {
      const { rootKeyId, name, expires, grants, isPerson } = known;
      this.rootKeyId = rootKeyId;
      this.name = name;
      this.expires = expires;
      this.grants = grants;
      if (isPerson) this.isPerson = true;
      this.#known = known;
      this.#now = now;
      if (known.restsOn) for (const action of known.restsOn) this.#use(action, "*");
    }

    onPermitted(action: Action, id: string): void {
      this.#known.onPermitted?.(action, id);
      this.#use(action, id);
    }

    #use(action: Action, id: string): void {
      // No list of theirs could be shrunk: what people may do is in the settings.
      if (this.isPerson) return;
      const grant = this.grants.scope(action).ids.has(id) ? id : "*";
      if (isNoted(this.rootKeyId, action, grant, this.#now)) return;
      this.#used ??= [];
      this.#used.push([action, grant]);
    }

    succeed(): void {
      if (this.#used === undefined) return;
      for (const [action, grant] of this.#used) note(this.rootKeyId, action, grant, this.#now);
    }
  }

  const late = new AbortController();

  const flush = async (): Promise<void> => {
    for (const some of chunks([...unwritten], CHUNK)) {
      late.signal.throwIfAborted();
      for (const [rootKeyId] of some) unwritten.delete(rootKeyId);
      try {
        await write(new Map(some), late);
      } catch (error) {
        for (const [rootKeyId, uses] of some) for (const [permission, at] of uses) add(rootKeyId, permission, at);
        throw error;
      }
    }
  };

  const rounds = createRounds(flushEvery, flush, onError);

  return {
    open: (caller, now) => new Calling(caller, now),
    start: () => rounds.start(),
    stop: async () => {
      const end = setTimeout(() => late.abort(new Error("uses of permissions could not be written in time")), STOP_WITHIN_MS).unref();
      await rounds.stop();
      await flush().catch(onError);
      clearTimeout(end);
    },
  };
};
