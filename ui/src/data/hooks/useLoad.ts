import { useEffect, useRef, useState } from "preact/hooks";
import { nothingUnseen, type Unseen } from "../access/unseen.ts";
import { type Answer, type CallOptions, changesMade } from "../calls/call.ts";
import { type CallError, readCallError } from "../calls/callError.ts";

/** State of an answer on a page. `data` with an `error` is old: it was read before the failure. */
export interface Query<Data> {
  readonly data: Data | undefined;
  readonly etag: string | undefined;
  readonly error: CallError | undefined;
  readonly loading: boolean;
  /** The part of it that the session may not see. */
  readonly unseen: Unseen;
  /** Asks again. */
  readonly reload: () => void;
}

export interface QueryOptions {
  /** Milliseconds between polls, which do not keep the session alive. */
  readonly pollEvery?: number;
  /** The time that the question was made of (`useNow`): one that it alone has changed is a poll as well. */
  readonly asOf?: number;
  /** Asks again when it is another one. */
  readonly refresh?: number;
  /** False: nothing is asked yet. */
  readonly enabled?: boolean;
}

export interface LoadOptions extends QueryOptions {
  /** The part of the answer that the session may not see, by the procedures that list it. */
  readonly unseen?: Unseen;
}

interface State<Data> {
  readonly key: string;
  readonly answer?: Answer<Data>;
  readonly error?: CallError;
}

/**
 * Reads something by one or more calls and keeps reading: when the key changes, after each change that this page makes, and every
 * `pollEvery`. Data of another key is dropped at once, unless only the time has changed the key.
 * @param key says what is read: equal keys, equal questions
 * @param load makes the calls, with these options
 */
export const useLoad = <Data>(
  key: string,
  load: (options: CallOptions) => Promise<Answer<Data>>,
  { pollEvery, asOf, refresh = 0, enabled = true, unseen = nothingUnseen }: LoadOptions = {},
): Query<Data> => {
  const [state, setState] = useState<State<Data>>({ key });
  const [asked, setAsked] = useState({ background: false });
  const before = useRef({ key, asked, asOf });
  const carried = useRef<string | undefined>(undefined);
  const changed = changesMade.value;
  // Time alone has made another question of it: what was read stays until the new answer is there.
  const movedOn = asOf !== before.current.asOf;
  const isShown = (read: string): boolean => read === key || read === carried.current || movedOn;

  // `key` represents `load`, which is a new function on each render.
  useEffect(() => {
    if (!enabled) return;
    const abort = new AbortController();
    const background = (asked.background && asked !== before.current.asked) || movedOn;
    if (movedOn) carried.current = state.key;
    else if (key !== before.current.key) carried.current = undefined;
    load({ signal: abort.signal, background }).then(
      (answer) => {
        if (!abort.signal.aborted) setState({ key, answer });
      },
      (thrown) => {
        if (abort.signal.aborted) return;
        const error = readCallError(thrown);
        setState((last) => (isShown(last.key) && last.answer ? { key, answer: last.answer, error } : { key, error }));
      },
    );
    return () => abort.abort();
  }, [key, asked, changed, refresh, enabled]);
  useEffect(() => {
    before.current = { key, asked, asOf };
  });

  useEffect(() => {
    if (pollEvery === undefined) return;
    const timer = setInterval(() => {
      if (document.hidden) return;
      setAsked({ background: true });
    }, pollEvery);
    return () => clearInterval(timer);
  }, [pollEvery]);

  const current: State<Data> = isShown(state.key) ? state : { key };
  return {
    data: current.answer?.message,
    etag: current.answer?.etag,
    error: current.error,
    unseen,
    loading: current.answer === undefined && current.error === undefined,
    reload: () => setAsked({ background: false }),
  };
};
