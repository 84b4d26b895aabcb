import { useEffect, useState } from "preact/hooks";
import { type CheckEvent, type Replay, replay, type TriedLimit } from "./replay.ts";

/** Replays whenever the events or the limit are others; the result before stays until the next one is there. */
export const useReplay = (events: readonly CheckEvent[], { limit, duration }: TriedLimit): Replay | undefined => {
  const [result, setResult] = useState<Replay>();
  useEffect(() => {
    const abort = new AbortController();
    void replay(events, { limit, duration }, abort.signal).then((replayed) => {
      if (replayed !== undefined && !abort.signal.aborted) setResult(replayed);
    });
    return () => abort.abort();
  }, [events, limit, duration]);
  return result;
};
