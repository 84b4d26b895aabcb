/** The one use of the browser's storage: theme and column choices (console §2.9). */
type StoredName = "theme" | `columns:${string}`;

/** Reads a choice; undefined when there is none, or the browser keeps nothing. */
export const readStored = (name: StoredName): string | undefined => {
  try {
    return localStorage.getItem(`latchkey:${name}`) ?? undefined;
  } catch {
    return undefined;
  }
};

/** Keeps a choice, undefined: forgets it. A browser that keeps nothing is no error. */
export const store = (name: StoredName, value: string | undefined): void => {
  try {
    if (value === undefined) localStorage.removeItem(`latchkey:${name}`);
    else localStorage.setItem(`latchkey:${name}`, value);
  } catch {
    // Storage is off: the choice holds until the page is left.
  }
};
