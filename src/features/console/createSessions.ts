import { timingSafeEqual } from "node:crypto";
import type { Caller } from "../../platform/authorization/authorization.ts";
import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { ServiceError } from "../../platform/base/errors.ts";
import type { Holder, LiveSession, Visit } from "../../platform/rpc/visit.ts";
import { hashKey } from "../../platform/secrets/keySecret.ts";
import type { Secret } from "../../platform/secrets/secret.ts";
import { createSessionToken, looksLikeSessionToken } from "../../platform/secrets/sessionToken.ts";
import type { SessionDocument } from "../../platform/storage/port/consoleDocuments.ts";
import { type AuditSource, auditEvent, resource } from "../audit/auditEvent.ts";
import { needsElevation } from "./elevation.ts";
import type { FindHolder } from "./holders.ts";
import type { SessionsRepository } from "./sessionsRepository.ts";
import { ELEVATION_MS, hasEnded, isElevated, renews, type SessionBounds } from "./sessionTimes.ts";

/** How long rows stay behind the end of their sessions, in ms, whatever became of them. */
const KEPT_MS = 3_600_000;
const MOST_USER_AGENT = 512;

/** Who acts, when, and for whom the store is asked. */
export interface Acting {
  readonly visit: Visit;
  readonly source: AuditSource;
  readonly behalf: Behalf;
}

export interface Opened {
  readonly token: Secret;
  readonly live: LiveSession;
}

export interface Sessions {
  readonly bounds: SessionBounds;
  /** The session of a token; undefined when there is none (any more). Reads the store, so it ends everywhere at once. */
  readonly find: (token: Secret | undefined, now: number, behalf: Behalf) => Promise<LiveSession | undefined>;
  /**
   * Who calls by the session of this visit, judged anew by whose it is, and counts the call as use of it. 401
   * `console_session_required` when there is none. What the caller is permitted may still need elevation: 403
   * `console_elevation_required`.
   */
  readonly callerOf: (visit: Visit, now: number, behalf: Behalf) => Promise<Caller>;
  /** @param sessionId one that was used before fails with `DuplicateKeyError` */
  readonly open: (holder: Holder, sessionId: string, acting: Acting) => Promise<Opened>;
  /**
   * Another token for the session, which may do everything for 5 minutes. A person's session then goes by the claims of the holder
   * given. 401 when it has ended meanwhile.
   */
  readonly elevate: (live: LiveSession, acting: Acting) => Promise<Opened>;
  /** Those of the holder that have not ended, of the latest 100; those that have are deleted. */
  readonly listOf: (holder: Holder, now: number, behalf: Behalf) => Promise<readonly SessionDocument[]>;
  /** One of the holder by its id, if it has not ended. */
  readonly findOf: (holder: Holder, sessionId: string, now: number, behalf: Behalf) => Promise<SessionDocument | undefined>;
  /** False when it had ended. */
  readonly end: (live: LiveSession, acting: Acting) => Promise<boolean>;
}

export interface SessionsOptions {
  readonly sessions: SessionsRepository;
  readonly findHolder: FindHolder;
  readonly bounds: SessionBounds;
  /** One that nobody turns: by it rows are kept. */
  readonly leaseClock: Clock;
  /** Hears of every call of a root key that was let in. */
  readonly onUse: (rootKeyId: string, now: number) => void;
}

const sessionRequired = (): ServiceError => new ServiceError("console_session_required", "There is no session, or it has ended: sign in.");

const elevationRequired = ({ person }: Holder): ServiceError => {
  const what = person === undefined ? "the session's root key entered again" : "you to have signed in again at your identity provider";
  return new ServiceError("console_elevation_required", `This needs ${what} within the last 5 minutes.`);
};

const isSame = (a: string, b = ""): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Sessions of the console (console §2.1 to §2.4). Nothing is remembered of them: every call reads its own, and whose it is. */
export const createSessions = ({ sessions, findHolder, bounds, leaseClock, onUse }: SessionsOptions): Sessions => {
  const isLive = (session: SessionDocument, holder: Holder | undefined, now: number): holder is Holder =>
    !hasEnded(session, bounds, now) && holder?.opening === session.opening && holder.callerAt(now) !== undefined;

  /** For good, also if the holder was read a while ago: its number only rises. */
  const isOver = (session: SessionDocument, { opening }: Holder, now: number): boolean =>
    hasEnded(session, bounds, now) || session.opening < opening;

  const find: Sessions["find"] = async (token, now, behalf) => {
    if (token === undefined || !looksLikeSessionToken(token.reveal())) return undefined;
    const hash = hashKey(token.reveal());
    const session = await sessions.findByHash(hash, behalf);
    if (session === null || !isSame(hash, session.hash)) return undefined;
    const holder = await findHolder(session, behalf);
    if (isLive(session, holder, now)) return { session, holder };
    // Another node may have another mapping, as while they are restarted one after the other.
    if (holder === undefined && session.person !== undefined && !hasEnded(session, bounds, now)) return undefined;
    await sessions.end(session._id, now, [], behalf);
    return undefined;
  };

  const of = (session: Pick<SessionDocument, "_id">, { id, name, person }: Holder) =>
    [resource("session", session._id), resource(person === undefined ? "key" : "person", id, name)] as const;

  const noteUse = ({ id, person }: Holder, now: number): void => {
    if (person === undefined) onUse(id, now);
  };

  return {
    bounds,
    find,
    callerOf: async (visit, now, behalf) => {
      const live = visit.isPrivate ? await find(visit.token, now, behalf) : undefined;
      const caller = live?.holder.callerAt(now);
      if (live === undefined || caller === undefined) throw sessionRequired();
      const { session, holder } = live;
      const isUse = !visit.isBackground && renews(session, now);
      if (isUse) await sessions.markUsed(session._id, now, behalf);
      noteUse(holder, now);
      visit.live = isUse ? { ...live, session: { ...session, lastUsedAt: now } } : live;
      return {
        ...caller,
        onPermitted: (action) => {
          if ((visit.isExport || needsElevation(action)) && !isElevated(session, now)) throw elevationRequired(holder);
        },
      };
    },
    open: async (holder, id, { visit, source, behalf }) => {
      const { token, hash } = createSessionToken();
      const { now, userAgent } = source;
      const { person } = holder;
      const fresh = {
        id,
        hash,
        rootKeyId: holder.id,
        ...(person === undefined ? {} : { person }),
        opening: holder.opening,
        ...(visit.address === undefined ? {} : { address: visit.address }),
        ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, MOST_USER_AGENT).toWellFormed() }),
        lastUsedAt: now,
        expiresAt: now + bounds.whole,
        expireAt: new Date(leaseClock.now() + bounds.whole + KEPT_MS),
      };
      const how = person === undefined ? `with root key ${holder.id}` : `as ${holder.id}`;
      const event = auditEvent(source, "console.sign_in", `Signed in to the console ${how}`, ...of({ _id: id }, holder));
      await sessions.insert(fresh, now, [event], behalf);
      noteUse(holder, now);
      const session = await sessions.findByHash(hash, behalf);
      if (session === null) throw sessionRequired();
      return { token, live: { session, holder } };
    },
    elevate: async ({ session, holder }, { source, behalf }) => {
      const { token, hash } = createSessionToken();
      const { now } = source;
      const event = auditEvent(source, "console.elevate", `Elevated session ${session._id} of the console`, ...of(session, holder));
      const { person } = holder;
      const change = { hash, elevatedUntil: now + ELEVATION_MS, lastUsedAt: now, ...(person === undefined ? {} : { person }) };
      const elevated = await sessions.elevate(session, change, [event], behalf);
      if (elevated === null) throw sessionRequired();
      return { token, live: { session: elevated, holder } };
    },
    listOf: async (holder, now, behalf) => {
      const all = await sessions.listOf(holder.id, behalf);
      for (const session of all) if (isOver(session, holder, now)) await sessions.end(session._id, now, [], behalf);
      // Each session of a person goes by the claims of its own sign-in.
      const holders = await Promise.all(all.map((session) => (session.person === undefined ? holder : findHolder(session, behalf))));
      return all.filter((session, i) => isLive(session, holders[i], now));
    },
    findOf: async (holder, sessionId, now, behalf) => {
      const session = await sessions.find(sessionId, behalf);
      if (session?.rootKeyId !== holder.id) return undefined;
      return isLive(session, session.person === undefined ? holder : await findHolder(session, behalf), now) ? session : undefined;
    },
    end: async ({ session, holder }, { source, behalf }) => {
      const event = auditEvent(source, "console.sign_out", `Ended session ${session._id} of the console`, ...of(session, holder));
      return sessions.end(session._id, source.now, [event], behalf);
    },
  };
};
