import type { Http2Session, Http2Stream } from "node:http2";
import { types } from "node:util";

/** After so many streams the table of a session's open streams is made anew. */
const RENEW_AFTER = 64;

interface SessionState {
  streams: Map<number, Http2Stream>;
}

/** What node keeps of a session, and does not show: undefined where this version keeps it elsewhere. */
const stateOf = (session: Http2Session): SessionState | undefined => {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === "state");
  const state = key && (session as unknown as Readonly<Record<symbol, Partial<SessionState>>>)[key];
  // Node's own class of maps, out of reach of everybody's changes, does not inherit from `Map`.
  return types.isMap(state?.streams) ? (state as SessionState) : undefined;
};

/**
 * Makes a function to be called for each stream of a session, which replaces the map of its open streams from time to time. Node
 * keeps one map for as long as the session lasts. The tables that a map outgrows stay linked: one that has been promoted
 * to the old generation keeps all later ones alive, with the streams in them, until the next full collection. A fifth
 * of all streams survived in this way, and copying them took tens of milliseconds of each collection.
 */
export const createRenewStreamTable = (session: Http2Session): (() => void) => {
  const state = stateOf(session);
  let opened = 0;
  return () => {
    if (state === undefined || ++opened < RENEW_AFTER) return;
    opened = 0;
    const { streams } = state;
    state.streams = Reflect.construct(streams.constructor, [streams]);
  };
};
