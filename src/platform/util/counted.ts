/** A number of things in words: `1 row`, `1,204 rows`. @param plural of the noun; with an `s` unless told */
export const counted = (n: number, noun: string, plural = `${noun}s`): string => `${n.toLocaleString("en")} ${n === 1 ? noun : plural}`;
