/** Characters of a text that are shown, and how many of them come before the first word that was found. */
const shownLength = 220;
const shownBefore = 70;

/** A piece of an excerpt. */
interface Piece {
  readonly text: string;
  /** True for a word that was searched for. */
  readonly isFound: boolean;
}

/** The part of a text around the first of the words. */
export const excerptOf = (text: string, words: readonly string[]): readonly Piece[] => {
  const any = words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "")).filter(Boolean);
  // Captured words are the odd pieces of a split text.
  const pattern = any.length === 0 ? undefined : new RegExp(`(?<![\\p{L}\\p{N}])(${any.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  const first = pattern === undefined ? 0 : Math.max(0, text.search(pattern));
  const start = first <= shownBefore ? 0 : text.indexOf(" ", first - shownBefore) + 1;
  const end = start + shownLength < text.length ? Math.max(start, text.lastIndexOf(" ", start + shownLength)) : text.length;
  const shown = `${start > 0 ? "… " : ""}${text.slice(start, end).toWellFormed()}${end < text.length ? " …" : ""}`;
  return (pattern === undefined ? [shown] : shown.split(pattern)).map((piece, i) => ({ text: piece, isFound: i % 2 === 1 }));
};
