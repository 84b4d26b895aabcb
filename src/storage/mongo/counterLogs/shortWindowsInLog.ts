import { durationOfKey } from "../../../domain/counterKey.ts";
import type { Counters } from "../../port/counters.ts";
import { LONGEST_WINDOW_MS } from "./windowCounts.ts";

/** True where the counter of that key is one that is kept in logs. */
export const isLogged = (key: string): boolean => {
  const duration = durationOfKey(key);
  return duration !== undefined && duration <= LONGEST_WINDOW_MS;
};

/** Counters of which those of short windows are in the logs of nodes, and the others in documents. */
export const shortWindowsInLog = (logged: Counters, inDocuments: Counters): Counters => {
  const keeping = (key: string): Counters => (isLogged(key) ? logged : inDocuments);
  return {
    isShared: true,
    read: (key, ...rest) => keeping(key).read(key, ...rest),
    charge: (key, ...rest) => keeping(key).charge(key, ...rest),
    open: (key, ...rest) => keeping(key).open(key, ...rest),
    roll: (key, ...rest) => keeping(key).roll(key, ...rest),
    refund: (key, ...rest) => keeping(key).refund(key, ...rest),
  };
};
