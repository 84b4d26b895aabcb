import { setTimeout as sleep } from "node:timers/promises";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from "@opentelemetry/sdk-trace";

/** Spans that wait or are on their way, at most; further ones are dropped. */
const MOST_WAITING = 2_048;
/** Spans of one request: so many are written in well under two milliseconds. */
const BATCH = 128;
/** How long a span waits for others to go with it, in milliseconds. */
const SEND_EVERY_MS = 1_000;
/** What a request to the collector may take with its repeats, in milliseconds. */
const REQUEST_MS = 5_000;
/** What the last spans may take when the service stops, in milliseconds. */
const STOP_MS = 3_000;

export interface BoundedExportOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly onExported: (spans: number) => void;
  /** Spans that nobody will see. */
  readonly onDropped: (spans: number, cause: string) => void;
}

/** Sends spans to a collector, in batches, without ever waiting for it or holding more than a bounded number of them. */
export interface BoundedExport {
  readonly processor: SpanProcessor;
  /** Sends what waits, within a bound, and drops the rest. Never rejects. */
  readonly stop: () => Promise<void>;
}

const causeOf = ({ error }: ExportResult): string => {
  const message = error?.message || "the collector did not take them";
  const code = error !== undefined && "code" in error ? String(error.code) : "";
  return (message.includes(code) ? message : `${message} ${code}`).slice(0, 200);
};

/** Starts nothing before the first span. */
export const createBoundedExport = ({ url, headers, onExported, onDropped }: BoundedExportOptions): BoundedExport => {
  let waiting = 0;
  let isStopped = false;
  const drop = (spans: number, cause: string): void => {
    if (!isStopped) onDropped(spans, cause);
  };
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: REQUEST_MS });
  const counted: SpanExporter = {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        waiting -= spans.length;
        if (result.code === ExportResultCode.SUCCESS) onExported(spans.length);
        else drop(spans.length, causeOf(result));
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor({
    exporter: counted,
    maxQueueSize: MOST_WAITING,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: SEND_EVERY_MS,
    // The exporter comes to an end before.
    exportTimeoutMillis: 2 * REQUEST_MS,
  });

  return {
    processor: {
      onStart: () => undefined,
      onEnd: (span) => {
        if (waiting >= MOST_WAITING) {
          drop(1, "too many wait for the collector");
          return;
        }
        waiting++;
        batches.onEnd(span);
      },
      forceFlush: () => batches.forceFlush(),
      shutdown: () => batches.shutdown(),
    },
    stop: async () => {
      const stopped = batches.shutdown().catch(() => undefined);
      await Promise.race([stopped, sleep(STOP_MS, undefined, { ref: false })]);
      if (waiting > 0) drop(waiting, "the service stopped");
      isStopped = true;
    },
  };
};
