import { compareCodePoints } from "../../platform/util/codePoints.ts";

/** Which counter of a namespace: each identifier has one for each length of the window (ratelimit §3). */
export interface CounterPlace {
  readonly identifier: string;
  /** Milliseconds. */
  readonly duration: number;
}

/** What the keys of all counters of a namespace begin with. @param run of a clock that tests turn; else empty. */
export const counterKeysOf = (namespaceId: string, run = ""): string => `${run}namespace:${namespaceId}:`;

/** The key of a counter of a namespace. */
export const counterKey = (namespaceId: string, duration: number, identifier: string): string =>
  `namespace:${namespaceId}:${duration}:${identifier}`;

/** Which counter a key is of. @param keys what `counterKeysOf` returned, and the key begins with */
export const placeOfKey = (keys: string, key: string): CounterPlace => {
  const end = key.indexOf(":", keys.length);
  return { identifier: key.slice(end + 1), duration: Number(key.slice(keys.length, end)) };
};

/** The order of lists: by identifier in code points, then by duration. */
export const comparePlaces = (a: CounterPlace, b: CounterPlace): number =>
  compareCodePoints(a.identifier, b.identifier) || a.duration - b.duration;

/** Name of a limit's counter. Limits of a key and inline limits count per key, those of an identity per identity (verify §5). */
export const limitCounterKey = (scope: "key" | "identity", subjectId: string, duration: number, name: string): string =>
  `${scope}:${subjectId}:${duration}:${name}`;
