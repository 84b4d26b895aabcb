import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { useRef, useState } from "preact/hooks";
import { type Answer, call } from "../calls/call.ts";
import { type CallError, readCallError } from "../calls/callError.ts";

/** A form's call. */
export interface Mutation<Input extends DescMessage, Output extends DescMessage> {
  readonly method: DescMethodUnary<Input, Output>;
  readonly pending: boolean;
  readonly error: CallError | undefined;
  /** @returns undefined when it failed: `error` then says why. @param ifMatch the ETag of what the form shows */
  readonly run: (request: MessageInitShape<Input>, ifMatch?: string) => Promise<Answer<MessageShape<Output>> | undefined>;
  /** Forgets the error. */
  readonly clear: () => void;
}

/**
 * A call that a form makes, under one Idempotency-Key until it succeeds: a repeat after a lost answer does nothing twice (protocol §2).
 * Another form, or another body after a success, has another key.
 */
export const useMutation = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
): Mutation<Input, Output> => {
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<CallError>();
  const idempotencyKey = useRef<string | undefined>(undefined);
  return {
    method,
    pending,
    error,
    run: async (request, ifMatch) => {
      idempotencyKey.current ??= crypto.randomUUID();
      setPending(true);
      try {
        const answer = await call(method, request, { idempotencyKey: idempotencyKey.current, ifMatch });
        idempotencyKey.current = undefined;
        setError(undefined);
        return answer;
      } catch (thrown) {
        setError(readCallError(thrown));
        return undefined;
      } finally {
        setPending(false);
      }
    },
    clear: () => setError(undefined),
  };
};
