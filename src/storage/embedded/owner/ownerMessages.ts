import type { Counters, SharedCounter } from "../../port/counters.ts";
import type { WriteOperation, WriteResult } from "../sqlite/messages.ts";
import type { CarriedError } from "./carriedErrors.ts";

/** What a process that shares the store asks of the one that has it open; all else it reads in the file. */
export interface OwnerOperations {
  /** See `Store`. */
  readonly prepare: () => Promise<void>;
  readonly ping: () => Promise<void>;
  readonly progress: () => Promise<void>;
  readonly scrub: () => Promise<boolean>;
  /** See `WriteQueue`. */
  readonly write: (operation: WriteOperation) => Promise<WriteResult>;
  /** See `Counters`. */
  readonly read: (key: string) => Promise<SharedCounter | null>;
  readonly charge: (key: string, seq: number, atMost: number, amount: number) => Promise<SharedCounter | null>;
  readonly open: (key: string, seq: number, atMost: number, amount: number, expireAt: Date) => Promise<SharedCounter | null>;
  readonly roll: (key: string, from: SharedCounter, to: SharedCounter, expireAt: Date) => Promise<boolean>;
  readonly refund: (key: string, seq: number, amount: number) => Promise<void>;
  readonly list: NonNullable<Counters["list"]>;
}

type OperationName = keyof OwnerOperations;

/** From a process that shares the store. Numbers tell its calls from each other. */
export type ToOwner =
  | { readonly type: "call"; readonly call: number; readonly name: OperationName; readonly args: readonly unknown[] }
  /** Nobody waits for that call any more: it need not begin. */
  | { readonly type: "abort"; readonly call: number };

/** How a call ended, and what comes before that. */
export type OwnerReply =
  /** Of a result that is a list: what the call resolves to has all of them, in their order. */
  | { readonly call: number; readonly part: unknown }
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly error: CarriedError }
  /** It did not begin. */
  | { readonly call: number; readonly aborted: true };
