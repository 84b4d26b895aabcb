import { useEffect, useRef, useState } from "preact/hooks";
import { AuditService, type ChainBreak, type ChainHead, type DroppedEntries } from "../../../../gen/latchkey/v2/audit_pb.ts";
import { call } from "../../data/calls/call.ts";
import { type CallError, readCallError } from "../../data/calls/callError.ts";

/** Entries for each call: a second or so of the service's time, so that progress moves. */
const step = 10_000n;

/** How far the check has come. */
export interface ChainCheck {
  readonly state: "running" | "stopped" | "intact" | "broken" | "failed";
  readonly checked: bigint;
  readonly head: ChainHead | undefined;
  readonly broken: ChainBreak | undefined;
  readonly dropped: DroppedEntries | undefined;
  readonly error: CallError | undefined;
}

const begun: ChainCheck = { state: "running", checked: 0n, head: undefined, broken: undefined, dropped: undefined, error: undefined };

/** Checks the whole chain, call by call. */
export const useChainCheck = (): {
  readonly check: ChainCheck | undefined;
  readonly start: () => Promise<void>;
  readonly stop: () => void;
} => {
  const [check, setCheck] = useState<ChainCheck>();
  const current = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  const start = async (): Promise<void> => {
    current.current?.abort();
    const abort = new AbortController();
    current.current = abort;
    let now = begun;
    const show = (change: Partial<ChainCheck>): void => {
      now = { ...now, ...change };
      if (current.current === abort) setCheck(now);
    };
    show({});
    let from: bigint | undefined;
    try {
      for (;;) {
        const request = { limit: step, ...(from === undefined ? {} : { fromSequence: from }) };
        const { data } = (await call(AuditService.method.verifyChain, request, { signal: abort.signal })).message;
        if (data === undefined) return;
        show({ checked: now.checked + data.checked, head: data.head, dropped: data.dropped ?? now.dropped });
        if (!data.intact) return show({ state: "broken", broken: data.broken });
        if (data.checked === 0n || data.toSequence >= (data.head?.sequence ?? 0n)) return show({ state: "intact" });
        from = data.toSequence + 1n;
      }
    } catch (thrown) {
      if (abort.signal.aborted) show({ state: "stopped" });
      else show({ state: "failed", error: readCallError(thrown) });
    }
  };
  return { check, start, stop: () => current.current?.abort() };
};
