import { type Dispatch, type StateUpdater, useRef, useState } from "preact/hooks";

/**
 * Values of fields that start from the URL and follow it when it changes elsewhere. They follow during rendering: an effect would run
 * after the first keystrokes and undo them.
 * @param inUrl what the URL says now
 * @param key tells two of them apart; needed where they are no text
 * @returns what is typed, how to set it, and how to say that the URL is about to be what was typed: by then it may be more
 */
export const useTyped = <T>(inUrl: T, key: unknown = inUrl): readonly [T, Dispatch<StateUpdater<T>>, (key: unknown) => void] => {
  const [typed, setTyped] = useState(inUrl);
  const followed = useRef(key);
  const follow = (next: unknown): void => {
    followed.current = next;
  };
  const isElsewhere = followed.current !== key;
  if (isElsewhere) {
    follow(key);
    setTyped(() => inUrl);
  }
  return [isElsewhere ? inUrl : typed, setTyped, follow];
};
