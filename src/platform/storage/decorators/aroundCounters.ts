import type { Behalf } from "../../base/behalf.ts";
import type { Counters } from "../port/counters.ts";
import type { AroundOperation, StoreOperation } from "./aroundCollection.ts";

const operation = (name: StoreOperation["name"], kind: StoreOperation["kind"]): StoreOperation => ({ collection: "counters", name, kind });
const READ = operation("read", "read");
const LIST = operation("find", "read");
const SCAN = operation("scan", "read");
const CHARGE = operation("charge", "write");
const REFUND = operation("refund", "write");

/** Nothing of a call but its caller: what it charges is for all who wait for the counter, and goes on without it. */
const callerOf = (behalf: Behalf | undefined): Behalf | undefined => behalf && { caller: behalf.caller };

/**
 * The same counters, with something around every operation that takes time.
 * @param beforeRead runs before a read that may be answered from memory; may throw.
 */
export const aroundCounters = (inner: Counters, around: AroundOperation, beforeRead?: () => void): Counters => {
  const { isShared, list, scan } = inner;
  const readHere: Counters["read"] = (key, behalf) => {
    beforeRead?.();
    try {
      const read = inner.read(key, behalf);
      return read instanceof Promise ? around(READ, () => read, undefined) : read;
    } catch (error) {
      return around(READ, () => Promise.reject(error), undefined);
    }
  };
  return {
    isShared,
    read: isShared ? (key, behalf) => around(READ, async () => inner.read(key, behalf), behalf) : readHere,
    charge: (key, request, behalf) => around(CHARGE, () => inner.charge(key, request, behalf), isShared ? callerOf(behalf) : undefined),
    refund: (key, seq, amount, behalf) => around(REFUND, () => inner.refund(key, seq, amount, behalf), isShared ? behalf : undefined),
    ...(list && { list: (range, limit) => around(LIST, () => list(range, limit), undefined) }),
    ...(scan && { scan: (prefix, cursor) => around(SCAN, () => scan(prefix, cursor), undefined) }),
  };
};
