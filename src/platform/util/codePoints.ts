/** Halves of characters beyond U+FFFF come after everything else. */
const rankOf = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** Compares by code points, which is the order of the UTF-8 bytes and so that of every store, unlike `<`, which compares UTF-16 units. */
export const compareCodePoints = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
};
