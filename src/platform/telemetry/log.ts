import { writeSync } from "node:fs";
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

/** How often `flushSync` tries to write to a pipe that is full, 100 ms apart: a reader that is gone must not keep a process from ending. */
const FLUSH_ATTEMPTS = 20;

const nothing = Buffer.alloc(0);

/** Writes to standard error without blocking the event loop; `flushSync` before the process ends, which takes two seconds at most. */
export const standardError = (): DestinationStream & { flushSync(): void } => {
  let attempts = Number.POSITIVE_INFINITY;
  const destination = pino.destination({ dest: 2, sync: false, retryEAGAIN: () => attempts-- > 0 });
  const flushSync = destination.flushSync.bind(destination);
  return Object.assign(destination, {
    flushSync: () => {
      // The library tries again forever when the other end of a socket is gone, as a worker's is whose primary was killed.
      try {
        writeSync(2, nothing);
      } catch {
        return;
      }
      attempts = FLUSH_ATTEMPTS;
      flushSync();
    },
  });
};
