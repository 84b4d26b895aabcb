import type { JsonObject } from "@bufbuild/protobuf";
import { useEffect, useRef, useState } from "preact/hooks";
import { AnalyticsService } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { call } from "../../data/calls/call.ts";
import { type CallError, readCallError } from "../../data/calls/callError.ts";
import { requestKey } from "../../data/calls/requestKey.ts";
import { kept, noEvents, type TailEvents, withArrived } from "./tailEvents.ts";
import type { Followed } from "./tailRequest.ts";

const { tail } = AnalyticsService.method;

/** Milliseconds that a call waits for its first event. */
const wait = 20_000n;

/** Milliseconds between two answers: a busy service fills each, a quiet one is asked at once. */
const pause = 250;

export interface Tail extends TailEvents {
  /** The first answer is there: what happens from now on appears. */
  readonly listening: boolean;
  readonly error: CallError | undefined;
  readonly paused: boolean;
  /** Holds what is shown, and lets it go on: what came meanwhile appears then. */
  readonly togglePause: () => void;
  readonly retry: () => void;
}

/** Resolves when the page can be seen. */
const visible = (): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    look();
  });

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, pause));

/** Where one question has got to. */
interface Progress {
  readonly events: TailEvents;
  readonly listening: boolean;
  readonly error?: CallError;
}

const begun: Progress = { events: noEvents, listening: false };

/** Follows events as they reach analytics (management §6), by one waiting call at a time, which does not keep the session alive. */
export const useTail = (followed: Followed): Tail => {
  const key = requestKey(tail, followed);
  const [state, setState] = useState({ key, progress: begun });
  const [paused, setPaused] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const pausedNow = useRef(false);
  const place = useRef({ key, cursor: "" });
  const progress = state.key === key ? state.progress : begun;
  const change = (of: string, next: (before: Progress) => Progress): void =>
    setState((before) => ({ key: of, progress: next(before.key === of ? before.progress : begun) }));

  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    if (place.current.key !== key) place.current = { key, cursor: "" };
    const follow = async (): Promise<void> => {
      while (!signal.aborted) {
        const { cursor } = place.current;
        // The first call only finds the place to follow from, or why there is none.
        const request = { ...followed, cursor, limit: BigInt(kept), waitMs: cursor === "" ? 0n : wait };
        const { data } = (await call(tail, request, { signal, background: true })).message;
        if (signal.aborted) return;
        place.current = { key, cursor: data?.cursor ?? "" };
        const [arrived, dropped] = [(data?.events ?? []) as readonly JsonObject[], data?.dropped ?? 0n];
        change(key, ({ events }) => ({ events: withArrived(events, arrived, dropped, pausedNow.current), listening: true }));
        await rest();
        await visible();
      }
    };
    follow().catch((thrown) => {
      if (signal.aborted) return;
      const error = readCallError(thrown);
      const expired = error.kind === "invalid" && place.current.cursor !== "";
      if (expired) {
        // After ten minutes away: from now on again, and it is said that something is missing.
        place.current = { key, cursor: "" };
        change(key, ({ events }) => ({ events: { ...events, gap: true }, listening: false }));
        setAttempt((count) => count + 1);
      } else change(key, ({ events, listening }) => ({ events, listening, error }));
    });
    return () => abort.abort();
  }, [key, attempt]);

  return {
    ...progress.events,
    listening: progress.listening,
    error: progress.error,
    paused,
    togglePause: () => {
      pausedNow.current = !paused;
      setPaused(!paused);
      // The palette may hold this from a render with another filter.
      if (paused) change(place.current.key, ({ events, ...before }) => ({ ...before, events: withArrived(events, [], 0n, false) }));
    },
    retry: () => setAttempt((count) => count + 1),
  };
};
