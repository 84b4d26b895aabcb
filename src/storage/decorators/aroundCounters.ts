import type { Counters } from "../port/counters.ts";

/** Runs around an operation on counters. */
type Around = <T>(kind: "read" | "write", name: keyof Omit<Counters, "isShared">, operation: () => Promise<T>) => Promise<T>;

/** The same counters, with something around every operation that takes time. @param beforeRead may throw */
export const aroundCounters = (inner: Counters, around: Around, beforeRead?: () => void): Counters => {
  const { recent } = inner;
  return {
    isShared: inner.isShared,
    read: (key) => {
      beforeRead?.();
      try {
        const read = inner.read(key);
        return read instanceof Promise ? around("read", "read", () => read) : read;
      } catch (error) {
        return around("read", "read", () => Promise.reject(error));
      }
    },
    charge: (key, seq, atMost, amount) => around("write", "charge", () => inner.charge(key, seq, atMost, amount)),
    open: (key, seq, atMost, amount, expireAt) => around("write", "open", () => inner.open(key, seq, atMost, amount, expireAt)),
    roll: (key, from, to, expireAt) => around("write", "roll", () => inner.roll(key, from, to, expireAt)),
    refund: (key, seq, amount) => around("write", "refund", () => inner.refund(key, seq, amount)),
    ...(recent && { recent: (keys) => around("read", "recent", () => recent(keys)) }),
  };
};
