import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, type CallOptions, changesMade } from "../calls/call.ts";
import { type CallError, readCallError } from "../calls/callError.ts";

/** What a page knows of an answer. `data` with an `error` is old: it was read before the failure. */
export interface Query<Data> {
  readonly data: Data | undefined;
  readonly etag: string | undefined;
  readonly error: CallError | undefined;
  readonly loading: boolean;
  /** Asks again. */
  readonly reload: () => void;
}

export interface QueryOptions {
  /** Milliseconds between polls, which do not keep the session alive. */
  readonly pollEvery?: number;
  /** Asks again when it is another one. */
  readonly refresh?: number;
  /** False: nothing is asked yet. */
  readonly enabled?: boolean;
}

interface State<Data> {
  readonly key: string;
  readonly answer?: Answer<Data>;
  readonly error?: CallError;
}

/**
 * Reads something by one or more calls and keeps reading: when the key changes, after each change that this page makes, and every
 * `pollEvery`. What was read under another key is dropped at once.
 * @param key says what is read: equal keys, equal questions
 * @param load makes the calls, with these options
 */
export const useLoad = <Data>(
  key: string,
  load: (options: CallOptions) => Promise<Answer<Data>>,
  { pollEvery, refresh = 0, enabled = true }: QueryOptions = {},
): Query<Data> => {
  const [state, setState] = useState<State<Data>>({ key });
  const [asked, setAsked] = useState(0);
  const polled = useRef(false);
  const changed = changesMade.value;

  // `key` stands for `load`, which is made anew at each render.
  useEffect(() => {
    if (!enabled) return;
    const abort = new AbortController();
    const background = polled.current;
    polled.current = false;
    load({ signal: abort.signal, background }).then(
      (answer) => {
        if (!abort.signal.aborted) setState({ key, answer });
      },
      (thrown) => {
        if (abort.signal.aborted) return;
        const error = readCallError(thrown);
        setState((before) => (before.key === key && before.answer ? { key, answer: before.answer, error } : { key, error }));
      },
    );
    return () => abort.abort();
  }, [key, asked, changed, refresh, enabled]);

  useEffect(() => {
    if (pollEvery === undefined) return;
    const timer = setInterval(() => {
      if (document.hidden) return;
      polled.current = true;
      setAsked((count) => count + 1);
    }, pollEvery);
    return () => clearInterval(timer);
  }, [pollEvery]);

  const current: State<Data> = state.key === key ? state : { key };
  return {
    data: current.answer?.message,
    etag: current.answer?.etag,
    error: current.error,
    loading: current.answer === undefined && current.error === undefined,
    reload: () => setAsked((count) => count + 1),
  };
};
