/**
 * A pure function that remembers what it made of the latest texts: at least of `most`, at most of twice as many. What it
 * returns is shared, and must not be changed. @param longest characters; longer texts are not remembered.
 */
export const rememberLatest = <T extends string | object>(
  make: (text: string) => T,
  { most, longest }: { readonly most: number; readonly longest: number },
): ((text: string) => T) => {
  let latest = new Map<string, T>();
  let older = latest;
  const remember = (text: string): T => {
    const made = older.get(text) ?? make(text);
    if (text.length > longest) return made;
    if (latest.size >= most) {
      older = latest;
      latest = new Map();
    }
    latest.set(text, made);
    return made;
  };
  return (text) => latest.get(text) ?? remember(text);
};
