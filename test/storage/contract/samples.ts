import { WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import type { CounterDocument, KeyDocument, NamespaceDocument } from "../../../src/platform/storage/port/documents.ts";

let last = 0;
/** Text that no other document of this run has. */
export const unique = (prefix = "t"): string => `${prefix}_${String(++last).padStart(6, "0")}`;

export const sampleKey = (fields: Partial<KeyDocument> = {}): KeyDocument => ({
  _id: unique("key"),
  v: 1,
  workspaceId: WORKSPACE_ID,
  createdAt: 1,
  apiId: "api_1",
  hash: unique("hash"),
  start: "abc",
  enabled: true,
  permissionIds: [],
  roleIds: [],
  ratelimits: [],
  revision: 0,
  ...fields,
});

export const sampleCounter = (fields: Partial<CounterDocument> = {}): CounterDocument => ({
  _id: unique("counter"),
  v: 1,
  workspaceId: WORKSPACE_ID,
  seq: 1,
  current: 0,
  previous: 0,
  expireAt: new Date(8_000_000_000_000),
  ...fields,
});

export const sampleNamespace = (fields: Partial<NamespaceDocument> = {}): NamespaceDocument => ({
  _id: unique("rlns"),
  v: 1,
  workspaceId: WORKSPACE_ID,
  createdAt: 1,
  name: unique("name"),
  ...fields,
});

/** Holds all callers until `size` of them have arrived. */
const arrivalGate = (size: number): (() => Promise<void>) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  return () => {
    if (++arrived === size) resolve();
    return promise;
  };
};

/** Runs `caller` that often at the same moment; the outcomes in their order. */
export const atOnce = <T>(size: number, caller: (position: number) => Promise<T>): Promise<PromiseSettledResult<T>[]> => {
  const gate = arrivalGate(size);
  return Promise.allSettled(
    Array.from({ length: size }, async (_, position) => {
      await gate();
      return caller(position);
    }),
  );
};
