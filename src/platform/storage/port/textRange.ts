const LAST_CHARACTER = 0x10ffff;

/** The texts that begin with `prefix`, as a range of their UTF-8 bytes, which is the order of every engine. */
export const beginningWith = (prefix: string): { readonly $gte: string; readonly $lt?: string } => {
  const points = Array.from(prefix.toWellFormed(), (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CHARACTER) points.pop();
  const last = points.pop();
  const from = { $gte: prefix.toWellFormed() };
  if (last === undefined) return from;
  // Halves of characters are no text.
  return { ...from, $lt: String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1) };
};
