import { type DestinationStream, type Logger, type LoggerOptions, pino } from "pino";
import { activeSpan } from "./tracing/activeSpan.ts";

/** Structured log: one JSON object per line, with the trace that it belongs to. Only `events.ts` and the storage engines write to it. */
export type Log = Logger;

const options: LoggerOptions = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
  mixin: () => {
    const span = activeSpan();
    return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
  },
  // Nothing logs these on purpose; the net is for the objects of libraries, such as errors that carry a request.
  redact: {
    paths: ["authorization", "key", "secret", "password"].flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]),
    censor: "***",
  },
};

/** Built once, in main. `level` is the least severe one that is written. */
export const createLog = (level: string, destination: DestinationStream): Log => pino({ ...options, level }, destination);

/** Writes to standard error without blocking the event loop; `flushSync` before the process ends. */
export const standardError = (): DestinationStream & { flushSync(): void } => pino.destination({ dest: 2, sync: false });
