import type { Caller } from "../authorization/authorization.ts";
import type { Person } from "../base/person.ts";
import type { Secret } from "../secrets/secret.ts";
import type { SessionDocument } from "../storage/port/consoleDocuments.ts";

/** Whose a session is: a root key's, or a person's. */
export interface Holder {
  /** Of the root key, or the `personId`. */
  readonly id: string;
  readonly name: string | undefined;
  readonly person?: Person;
  /** Sessions that were opened under a lower number have ended. */
  readonly opening: number;
  /** What it may do, as triples, sorted. */
  readonly permissions: readonly string[];
  /** Who calls with such a session at `now`; undefined: it may not sign in. */
  readonly callerAt: (now: number) => Caller | undefined;
}

/** A session that has not ended, as it is stored, and whose it is. */
export interface LiveSession {
  readonly session: SessionDocument;
  readonly holder: Holder;
}

/** With what a call of the console came, beside its message. */
export interface Visit {
  /** What the cookie says, if it says one thing; it need not be a token. */
  readonly token: Secret | undefined;
  /** The connection may carry a session: it is encrypted, or leads nowhere (console §2.2). */
  readonly isPrivate: boolean;
  /** Nobody asked for it: it does not count as use of the session. */
  readonly isBackground: boolean;
  /** It is a part of an export, which needs elevation whatever it reads. */
  readonly isExport: boolean;
  /** The caller's address; undefined where a proxy does not say. */
  readonly address: string | undefined;
  /** The name under which that is counted. */
  readonly network: string;
  /** Set once the caller is known; undefined while there is none, and before signing in. */
  live: LiveSession | undefined;
  /** Sends the cookie of a session with the answer. */
  readonly giveCookie: (token: Secret) => void;
  /** Takes it back, and has the browser forget what it keeps of answers. */
  readonly takeCookie: () => void;
  /** Adds a header to the answer. */
  readonly setHeader: (name: string, value: string) => void;
}
