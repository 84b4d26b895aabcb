import { setTimeout as sleep } from "node:timers/promises";
import { type Caller, compileGrants, unrestrictedGrants } from "../../platform/authorization/authorization.ts";
import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { ServiceError } from "../../platform/base/errors.ts";
import type { Contact } from "../../platform/cache/contact.ts";
import { type CacheSize, createCache } from "../../platform/cache/createCache.ts";
import type { Invalidations } from "../../platform/cache/invalidations.ts";
import type { Share } from "../../platform/fairness/fairShares.ts";
import { hashKey } from "../../platform/secrets/keySecret.ts";
import { looksLikeRootKey } from "../../platform/secrets/rootKeySecret.ts";
import type { RootKeyDocument } from "../../platform/storage/port/documents.ts";
import type { RootKeysRepository } from "./rootKeysRepository.ts";

const UNKNOWN_MAX_AGE_MS = 1_000;

/** `S`: what tells where a call comes from, and for whom it is read. */
export interface Authenticator<S extends Behalf> extends CacheSize {
  /**
   * The caller behind an `Authorization` header (protocol §7). 401 `authentication_missing`, `_malformed`,
   * `_key_not_found`, `_key_disabled` or `_key_expired`; 503, after a rest, when too many root keys are asked for that are
   * not known here; rejects with the store's error when that cannot tell.
   */
  readonly authenticate: (authorization: string | undefined, now: number, source: S) => Caller | Promise<Caller>;
}

interface Known {
  readonly caller: Caller;
  readonly enabled: boolean;
  /** First millisecond at which it has expired. */
  readonly expiredFrom: number | undefined;
}

const keyNotFound = (): ServiceError => new ServiceError("authentication_key_not_found", "The root key does not exist.");

/**
 * The token of `Bearer <token>`, the scheme in any letter case, blanks around header and token dropped. Throws 401
 * `authentication_missing` or `_malformed`.
 */
export const bearerToken = (authorization: string | undefined): string => {
  const header = authorization?.trim() ?? "";
  if (header === "") {
    throw new ServiceError("authentication_missing", "The Authorization header is missing; send 'Authorization: Bearer <root key>'.");
  }
  const scheme = header.slice(0, 7);
  const token = header.slice(7).trim();
  if ((scheme !== "Bearer " && scheme.toLowerCase() !== "bearer ") || token === "") {
    throw new ServiceError("authentication_malformed", "The Authorization header is not of the form 'Bearer <root key>'.");
  }
  return token;
};

/** Who calls with this root key, by what its document says. */
export const callerOf = ({ _id, name, expires, permissions }: RootKeyDocument): Caller => ({
  rootKeyId: _id,
  name,
  expires,
  grants: permissions === undefined ? unrestrictedGrants : compileGrants(permissions),
});

/** First millisecond at which it has expired. */
const expiredFromOf = ({ expires, expiresInclusive }: RootKeyDocument): number | undefined =>
  expires === undefined || expiresInclusive ? expires : expires + 1;

const known = (document: RootKeyDocument): Known => ({
  enabled: document.enabled,
  expiredFrom: expiredFromOf(document),
  caller: callerOf(document),
});

/** Who calls with this root key at `now`; undefined when it is disabled or has expired. */
export const admitted = (document: RootKeyDocument, now: number): Caller | undefined => {
  const expiredFrom = expiredFromOf(document);
  return document.enabled && (expiredFrom === undefined || now < expiredFrom) ? callerOf(document) : undefined;
};

const judge = (root: Known | null, now: number): Caller => {
  if (root === null) throw keyNotFound();
  if (!root.enabled) throw new ServiceError("authentication_key_disabled", "The root key is disabled.");
  if (root.expiredFrom !== undefined && now >= root.expiredFrom) {
    throw new ServiceError("authentication_key_expired", "The root key has expired.");
  }
  return root.caller;
};

export interface AuthenticatorOptions<S extends Behalf> {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  readonly rootKeys: RootKeysRepository;
  readonly maxBytes: number;
  /** Makes room for a read on behalf of somebody who may be anybody; undefined when there is none. */
  readonly roomForRead: (source: S) => Share | undefined;
  /** How long the read for a root key that does not exist keeps its room, in milliseconds. */
  readonly unknownRest: number;
  /** How long a look-up for which there is no room waits for its refusal, in milliseconds: at least this, at most twice that. */
  readonly refusalRest: number;
  readonly onAccess?: (hit: boolean) => void;
  /** Hears of every call that was let in. */
  readonly onUse?: (rootKeyId: string, now: number) => void;
}

export const createAuthenticator = <S extends Behalf>(options: AuthenticatorOptions<S>): Authenticator<S> => {
  const { clock, invalidations, contact, rootKeys, maxBytes, roomForRead, unknownRest, refusalRest, onAccess, onUse } = options;
  const cache = createCache<Known | null>({
    clock,
    invalidations,
    contact,
    maxBytes,
    ...(onAccess ? { onAccess } : {}),
    load: async (hash) => {
      const sentAt = clock.monotonic();
      const document = await rootKeys.findByHash(hash);
      if (document === null) return { value: null, dependsOn: [hash], sentAt, maxAge: UNKNOWN_MAX_AGE_MS };
      return { value: known(document), dependsOn: [hash, document._id], sentAt };
    },
  });
  const admit = (root: Known | null, now: number): Caller => {
    const caller = judge(root, now);
    onUse?.(caller.rootKeyId, now);
    return caller;
  };

  /** Whoever guesses root keys waits for nobody's room but his own, and what does not exist is not asked for quickly. */
  const lookUp = async (hash: string, source: S): Promise<Known | null> => {
    const room = roomForRead(source);
    if (room === undefined) {
      // Who asks again once he is answered is slowed down so, and many of them do not come back all at once.
      await sleep(refusalRest * (1 + Math.random()), undefined, { ref: false });
      throw new ServiceError("service_unavailable", "Too many unknown root keys are being looked up. Try again shortly.");
    }
    try {
      const { value } = await cache.get(hash, source);
      if (value === null) setTimeout(room.give, unknownRest).unref();
      else room.give();
      return value;
    } catch (error) {
      room.give();
      throw error;
    }
  };

  return {
    size: cache.size,
    bytes: cache.bytes,
    authenticate: (authorization, now, source) => {
      const token = bearerToken(authorization);
      const hash = hashKey(token);
      if (!cache.has(hash)) {
        // An ordinary key, or a mistyped root key: no look-up needed.
        if (!looksLikeRootKey(token)) throw keyNotFound();
        if (!cache.isLoading(hash)) return lookUp(hash, source).then((value) => admit(value, now));
      }
      const found = cache.get(hash, source);
      return found instanceof Promise ? found.then(({ value }) => admit(value, now)) : admit(found.value, now);
    },
  };
};
