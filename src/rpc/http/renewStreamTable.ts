import type { Http2Session, Http2Stream } from "node:http2";
import { types } from "node:util";

/** After so many streams the tables of a session's streams are made anew. */
const RENEW_AFTER = 64;

interface SessionState {
  /** Those that are open. */
  streams?: Map<number, Http2Stream>;
  /** Those that have no number yet. */
  pendingStreams?: Set<Http2Stream>;
}

/** What node keeps of a session, and does not show: undefined where this version keeps it elsewhere. */
const stateOf = (session: Http2Session): SessionState | undefined => {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === "state");
  return key && (session as unknown as Readonly<Record<symbol, SessionState>>)[key];
};

/** The same entries in a new table. */
const renewed = <T extends Map<number, Http2Stream> | Set<Http2Stream>>(entries: T): T => Reflect.construct(entries.constructor, [entries]);

/**
 * Makes a function to be called for each stream of a session, which replaces the map of its open streams, and the set that
 * each goes through before, from time to time. Node keeps one of each for as long as the session lasts. The tables that they outgrow stay linked: one that has been promoted
 * to the old generation keeps all later ones alive, with the streams in them, until the next full collection. A fifth
 * of all streams survived in this way, and copying them took tens of milliseconds of each collection.
 */
export const createRenewStreamTable = (session: Http2Session): (() => void) => {
  const state = stateOf(session);
  let opened = 0;
  return () => {
    if (state === undefined || ++opened < RENEW_AFTER) return;
    opened = 0;
    // Node's own classes, out of reach of everybody's changes, do not inherit from `Map` and `Set`.
    if (types.isMap(state.streams)) state.streams = renewed(state.streams);
    if (types.isSet(state.pendingStreams)) state.pendingStreams = renewed(state.pendingStreams);
  };
};
