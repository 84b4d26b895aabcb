/**
 * The same as `make`, which is called once for each key: for what is compiled from descriptors, which never change. Nothing is
 * kept of a key that nobody holds any more.
 */
export const oncePer = <K extends object, V>(make: (key: K) => V): ((key: K) => V) => {
  const made = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
};
