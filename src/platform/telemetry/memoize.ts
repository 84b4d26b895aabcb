/** Calls `make` once per argument and remembers what it returned. */
export const memoize = <K extends string, T>(make: (key: K) => T): ((key: K) => T) => {
  const known = new Map<K, T>();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) {
      value = make(key);
      known.set(key, value);
    }
    return value;
  };
};
