/** Names and values of a span. Never a key, an identifier, a secret or what a caller sent. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** What is known of a call before it begins. Made once for each procedure and edge. */
export interface SpanDescription {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** The context of a trace as a caller sent it, verbatim (W3C Trace Context). */
export interface TraceHeaders {
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

/** A call that is traced. */
export interface CallSpan {
  /** Runs a part of the call: what it asks of the stores becomes its children, and its log lines name it. */
  readonly run: <T>(part: () => T) => T;
  /** The first end counts. @param error what went wrong, if that is the service's fault. */
  readonly end: (attributes: SpanAttributes, error: string | undefined) => void;
}

/** An operation on a store, as a trace tells it. */
export interface TracedOperation {
  /** `db.system.name` */
  readonly system: string;
  /** `db.operation.name` */
  readonly name: string;
  /** `db.collection.name` */
  readonly collection?: string;
  /** Where it is done for no call, it is a trace of its own, if it is sampled. */
  readonly standsAlone?: boolean;
}

/** Runs an operation, as a child of the traced call that it is done for; without one it is just run. */
export type TraceOperation = <T>(operation: TracedOperation, run: () => Promise<T>) => Promise<T>;

export const untraced: TraceOperation = (_operation, run) => run();

/** Traces of one service, and what becomes of them. */
export interface Tracer {
  /** Undefined for a call that is not sampled. A context that is malformed counts as none. */
  readonly begin: (description: SpanDescription, headers: TraceHeaders, requestId: string) => CallSpan | undefined;
  readonly operation: TraceOperation;
  /** Sends what waits, for 3 s at most. Never rejects. */
  readonly stop: () => Promise<void>;
}
