/**
 * A text as it compares where letter case is no matter. Lower case alone is not enough: what Σ becomes depends on the
 * letter after it.
 */
export const foldCase = (text: string): string => text.toLowerCase().replaceAll("ς", "σ");
