import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Caller } from "../domain/authorization.ts";

/** What a procedure knows of the call beside its request message. */
export interface Call {
  readonly requestId: string;
  readonly caller: Caller;
  /** Wall-clock time of arrival, Unix ms; the one time that every decision of this call uses. */
  readonly receivedAt: number;
  /** Aborted at the deadline (60 s, or earlier if the caller said so) and when the client went away. Made on first use. */
  readonly signal: AbortSignal;
  /** Shared by all audit events of this call. Made on first use. */
  readonly correlationId: string;
  readonly remoteIp: string | undefined;
  readonly userAgent: string | undefined;
}

/** A response without its `meta`, which the pipeline adds. */
export type Answer<O extends DescMessage> = Omit<MessageInitShape<O>, "meta" | "$typeName" | "$unknown">;

/** One procedure: a validated request in, an answer out. Fails with `ServiceError`. */
export type Procedure<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: Call,
) => Answer<O> | Promise<Answer<O>>;
