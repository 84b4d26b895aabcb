import { useEffect, useState } from "preact/hooks";
import { CallError } from "../data/calls/callError.ts";

const readError = (thrown: unknown): CallError => (thrown instanceof CallError ? thrown : new CallError("other", String(thrown)));

/** A part of the console that is loaded when it is first shown. */
export interface PartState<Part> {
  /** Undefined while it is loaded, and where it could not be. */
  readonly part: Part | undefined;
  readonly error: CallError | undefined;
  readonly retry: () => void;
}

/**
 * Loads a part once it is shown, and again by `retry`.
 * @param of tells one part from another
 * @param load see `loadPart`
 * @param loaded the part, if it was loaded before
 */
export const usePart = <Part>(of: unknown, load: () => Promise<Part>, loaded: () => Part | undefined): PartState<Part> => {
  const [state, setState] = useState<{ readonly of: unknown; readonly error?: CallError }>({ of });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let shown = true;
    // It may have been loaded since it was drawn: effects come later.
    if (loaded() !== undefined) return setState({ of });
    load().then(
      () => shown && setState({ of }),
      (thrown) => shown && setState({ of, error: readError(thrown) }),
    );
    return () => {
      shown = false;
    };
  }, [of, attempt]);
  const part = loaded();
  return {
    part,
    error: part === undefined && state.of === of ? state.error : undefined,
    retry: () => setAttempt((count) => count + 1),
  };
};
