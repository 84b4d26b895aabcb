import { createHash } from "node:crypto";
import type { ChargeAnswer, ChargeRequest, SharedCounter } from "../counters/sharedCounter.ts";
import type { Counters } from "../port/counters.ts";
import type { Link } from "./link.ts";
import { chargeScript, refundScript } from "./scripts.ts";
import { toStoreError } from "./valkeyErrors.ts";

/** What one step of a scan looks at, about. */
const SCANNED_AT_ONCE = 1_000;

const PREFIX = "latchkey:{";

/** What the server calls a counter. The braces are a hash tag, so all that belongs to a counter is on one node of a cluster. */
const nameOf = (key: string): string => `${PREFIX}${key.toWellFormed()}}`;
const keyOf = (name: string): string => name.slice(PREFIX.length, -1);

/** A text that `MATCH` takes for itself. */
const literal = (text: string): string => text.replace(/[\\*?[\]]/g, "\\$&");

interface Script {
  readonly text: string;
  readonly hash: string;
}

const script = (text: string): Script => ({ text, hash: createHash("sha1").update(text).digest("hex") });
const CHARGE = script(chargeScript);
const REFUND = script(refundScript);

/** `<window>:<current>:<previous>`. Anything else is no counter. */
const counterIn = (stored: unknown): SharedCounter | null => {
  const [, seq, current, previous] = /^(\d+):(\d+):(\d+)$/.exec(String(stored)) ?? [];
  return seq === undefined ? null : { seq: Number(seq), current: Number(current), previous: Number(previous) };
};

const answerIn = (reply: unknown): ChargeAnswer => {
  const [granted, amount = 0, seq = 0, current = 0, previous = 0, isStored] = String(reply).split(":").map(Number);
  return { isGranted: granted === 1, amount, counter: { seq, current, previous }, isStored: isStored === 1 };
};

export interface ValkeyCountersOptions {
  /** Throws `StoreUnavailableError` while there is no connection. */
  readonly link: () => Link;
  /** Windows are told by the server's clock, or by the time of each request: under a clock that tests turn. */
  readonly time: "server" | "request";
}

/** Counters of rate limits on a Valkey or Redis server: one function call per charge, those of one turn of the event loop pipelined. */
export const createValkeyCounters = ({ link, time }: ValkeyCountersOptions): Counters => {
  /** A server that was started again, or replaced, does not know the script: it has done nothing then. */
  const run = async ({ text, hash }: Script, key: string, values: readonly string[]): Promise<unknown> => {
    try {
      const { send } = link();
      const name = nameOf(key);
      try {
        return await send(name, ["EVALSHA", hash, "1", name, ...values]);
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
        return await send(name, ["EVAL", text, "1", name, ...values]);
      }
    } catch (error) {
      throw toStoreError(error, "write");
    }
  };

  const valuesOf = ({ duration, limit, cost, need, chunk, held, heldSeq, now }: ChargeRequest): string[] => {
    const values = [`${duration}`, `${limit}`, `${cost}`, `${need}`, `${chunk}`, `${held}`, `${heldSeq}`];
    if (time === "request") values.push(`${now}`);
    return values;
  };

  const reading = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      throw toStoreError(error, "read");
    }
  };

  return {
    isShared: true,
    read: (key) =>
      reading(async () => {
        const name = nameOf(key);
        return counterIn(await link().send(name, ["GET", name]));
      }),
    charge: async (key, request) => answerIn(await run(CHARGE, key, valuesOf(request))),
    refund: async (key, seq, amount) => void (await run(REFUND, key, [`${seq}`, `${amount}`])),
    scan: (prefix, cursor = "0/0") =>
      reading(async () => {
        const [place, from = "0"] = cursor.split("/");
        const nodes = link().nodes();
        const at = Number(place);
        const pattern = `${literal(PREFIX + prefix.toWellFormed())}*`;
        const reply = await nodes[at]?.send(["SCAN", from, "MATCH", pattern, "COUNT", `${SCANNED_AT_ONCE}`]);
        const [next, names] = (reply ?? ["0", []]) as readonly [string, readonly string[]];
        const isDone = String(next) === "0";
        const after = isDone ? (at + 1 < nodes.length ? `${at + 1}/0` : undefined) : `${at}/${next}`;
        return { keys: names.map(keyOf), next: after };
      }),
  };
};
