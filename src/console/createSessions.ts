import { timingSafeEqual } from "node:crypto";
import { type AuditSource, auditEvent, resource } from "../audit/auditEvent.ts";
import { allows, type Caller } from "../domain/authorization.ts";
import type { Behalf } from "../domain/behalf.ts";
import type { Clock } from "../domain/clock.ts";
import { needsElevation } from "../domain/console/elevation.ts";
import { ELEVATION_MS, hasEnded, isElevated, renews, type SessionBounds } from "../domain/console/sessionTimes.ts";
import { ServiceError } from "../domain/errors.ts";
import { hashKey } from "../domain/secrets/keySecret.ts";
import type { Secret } from "../domain/secrets/secret.ts";
import { createSessionToken, looksLikeSessionToken } from "../domain/secrets/sessionToken.ts";
import { admitted } from "../rootKeys/authenticator.ts";
import type { SessionDocument } from "../storage/port/consoleDocuments.ts";
import type { RootKeyDocument } from "../storage/port/documents.ts";
import type { SessionsRepository } from "../storage/repositories/console/sessionsRepository.ts";
import type { RootKeysRepository } from "../storage/repositories/rootKeysRepository.ts";
import type { LiveSession, Visit } from "./visit.ts";

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
   * Who calls by the session of this visit, judged anew by its root key, and counts the call as use of it. 401
   * `console_session_required` when there is none. What the caller is permitted may still need elevation: 403
   * `console_elevation_required`.
   */
  readonly callerOf: (visit: Visit, now: number, behalf: Behalf) => Promise<Caller>;
  /** Whether a root key may sign in at `now`. */
  readonly mayOpen: (rootKey: RootKeyDocument, now: number) => boolean;
  readonly open: (rootKey: RootKeyDocument, sessionId: string, acting: Acting) => Promise<Opened>;
  /** Another token for the session, which may do everything for 5 minutes. 401 when it has ended meanwhile. */
  readonly elevate: (live: LiveSession, acting: Acting) => Promise<Opened>;
  /** Those of the root key that have not ended, of the latest 100; those that have are deleted. */
  readonly listOf: (rootKey: RootKeyDocument, now: number, behalf: Behalf) => Promise<readonly SessionDocument[]>;
  /** One of the root key by its id, if it has not ended. */
  readonly findOf: (rootKey: RootKeyDocument, sessionId: string, now: number, behalf: Behalf) => Promise<SessionDocument | undefined>;
  /** False when it had ended. */
  readonly end: (session: SessionDocument, rootKey: RootKeyDocument, acting: Acting) => Promise<boolean>;
}

export interface SessionsOptions {
  readonly sessions: SessionsRepository;
  readonly rootKeys: Pick<RootKeysRepository, "find">;
  readonly bounds: SessionBounds;
  /** One that nobody turns: by it rows are kept. */
  readonly leaseClock: Clock;
  /** Hears of every call that was let in. */
  readonly onUse: (rootKeyId: string, now: number) => void;
}

const sessionRequired = (): ServiceError => new ServiceError("console_session_required", "There is no session, or it has ended: sign in.");

const elevationRequired = (): ServiceError =>
  new ServiceError("console_elevation_required", "This needs the session's root key entered again within the last 5 minutes.");

const isSame = (a: string, b = ""): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Who may call with the root key, if it may sign in at `now`. */
const signerOf = (rootKey: RootKeyDocument | null, now: number): Caller | undefined => {
  const caller = rootKey === null ? undefined : admitted(rootKey, now);
  return caller !== undefined && allows(caller, "console.sign_in", "*") ? caller : undefined;
};

/** Sessions of the console (console §2.1 to §2.4). Nothing is remembered of them: every call reads its own, and its root key. */
export const createSessions = ({ sessions, rootKeys, bounds, leaseClock, onUse }: SessionsOptions): Sessions => {
  const isLive = (session: SessionDocument, rootKey: RootKeyDocument | null, now: number): rootKey is RootKeyDocument =>
    !hasEnded(session, bounds, now) && (rootKey?.sessionsEnded ?? 0) === session.opening && signerOf(rootKey, now) !== undefined;

  const find: Sessions["find"] = async (token, now, behalf) => {
    if (token === undefined || !looksLikeSessionToken(token.reveal())) return undefined;
    const hash = hashKey(token.reveal());
    const session = await sessions.findByHash(hash, behalf);
    if (session === null || !isSame(hash, session.hash)) return undefined;
    const rootKey = await rootKeys.find(session.rootKeyId, behalf);
    if (isLive(session, rootKey, now)) return { session, rootKey };
    await sessions.end(session._id, now, [], behalf);
    return undefined;
  };

  const of = (session: Pick<SessionDocument, "_id">, rootKey: RootKeyDocument) =>
    [resource("session", session._id), resource("key", rootKey._id, rootKey.name)] as const;

  return {
    bounds,
    find,
    callerOf: async (visit, now, behalf) => {
      const live = visit.isPrivate ? await find(visit.token, now, behalf) : undefined;
      const signer = live && signerOf(live.rootKey, now);
      if (live === undefined || signer === undefined) throw sessionRequired();
      const { session } = live;
      const isUse = !visit.isBackground && renews(session, now);
      if (isUse) await sessions.markUsed(session._id, now, behalf);
      onUse(signer.rootKeyId, now);
      visit.live = isUse ? { ...live, session: { ...session, lastUsedAt: now } } : live;
      return {
        ...signer,
        restsOn: ["console.sign_in"],
        onPermitted: (action) => {
          if ((visit.isExport || needsElevation(action)) && !isElevated(session, now)) throw elevationRequired();
        },
      };
    },
    mayOpen: (rootKey, now) => signerOf(rootKey, now) !== undefined,
    open: async (rootKey, id, { visit, source, behalf }) => {
      const { token, hash } = createSessionToken();
      const { now, userAgent } = source;
      const fresh = {
        id,
        hash,
        rootKeyId: rootKey._id,
        opening: rootKey.sessionsEnded ?? 0,
        ...(visit.address === undefined ? {} : { address: visit.address }),
        ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, MOST_USER_AGENT).toWellFormed() }),
        lastUsedAt: now,
        expiresAt: now + bounds.whole,
        expireAt: new Date(leaseClock.now() + bounds.whole + KEPT_MS),
      };
      const event = auditEvent(
        source,
        "console.sign_in",
        `Signed in to the console with root key ${rootKey._id}`,
        ...of({ _id: id }, rootKey),
      );
      await sessions.insert(fresh, now, [event], behalf);
      onUse(rootKey._id, now);
      const session = await sessions.findByHash(hash, behalf);
      if (session === null) throw sessionRequired();
      return { token, live: { session, rootKey } };
    },
    elevate: async ({ session, rootKey }, { source, behalf }) => {
      const { token, hash } = createSessionToken();
      const { now } = source;
      const event = auditEvent(source, "console.elevate", `Elevated session ${session._id} of the console`, ...of(session, rootKey));
      const change = { hash, elevatedUntil: now + ELEVATION_MS, lastUsedAt: now };
      const elevated = await sessions.elevate(session, change, [event], behalf);
      if (elevated === null) throw sessionRequired();
      return { token, live: { session: elevated, rootKey } };
    },
    listOf: async (rootKey, now, behalf) => {
      const all = await sessions.listOf(rootKey._id, behalf);
      const [live, ended] = [
        all.filter((session) => isLive(session, rootKey, now)),
        all.filter((session) => !isLive(session, rootKey, now)),
      ];
      for (const { _id } of ended) await sessions.end(_id, now, [], behalf);
      return live;
    },
    findOf: async (rootKey, sessionId, now, behalf) => {
      const session = await sessions.find(sessionId, behalf);
      return session?.rootKeyId === rootKey._id && isLive(session, rootKey, now) ? session : undefined;
    },
    end: async (session, rootKey, { source, behalf }) => {
      const event = auditEvent(source, "console.sign_out", `Ended session ${session._id} of the console`, ...of(session, rootKey));
      return sessions.end(session._id, source.now, [event], behalf);
    },
  };
};
