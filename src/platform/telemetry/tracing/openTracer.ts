import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { type ActiveSpan, activeSpan, runFor } from "./activeSpan.ts";
import { type BoundedExportOptions, createBoundedExport } from "./boundedExport.ts";
import type { TracedOperation, TraceHeaders, Tracer } from "./tracer.ts";

export interface TracerOptions extends BoundedExportOptions {
  /** As OpenTelemetry names it; `parentbased_…` goes by the caller's context where there is one. */
  readonly sampler: string;
  /** 0 to 1. */
  readonly ratio: number;
  /** Instead of that in `attributes`, or of `latchkey`. */
  readonly serviceName: string | undefined;
  /** Of the service. */
  readonly version: string;
  /** What all spans tell of this node. */
  readonly attributes: Readonly<Record<string, string>>;
}

const rootSampler = (name: string, ratio: number): Sampler => {
  if (name.endsWith("always_on")) return new AlwaysOnSampler();
  return name.endsWith("always_off") ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
};

const samplerOf = ({ sampler: name, ratio }: TracerOptions): Sampler => {
  const root = rootSampler(name, ratio);
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
};

const headersOf: TextMapGetter<TraceHeaders> = {
  get: (headers, name) => (name === "traceparent" ? headers.traceparent : headers.tracestate),
  keys: () => ["traceparent", "tracestate"],
};

const fail = (span: Span, error: string): void => {
  span.setAttribute("error.type", error);
  span.setStatus({ code: SpanStatusCode.ERROR });
};

const attributesOf = ({ system, name, collection }: TracedOperation): Attributes => ({
  "db.system.name": system,
  "db.operation.name": name,
  ...(collection !== undefined && { "db.collection.name": collection }),
});

/**
 * The only module that loads OpenTelemetry, with those beside it that are not of types alone: imported when there is a collector
 * to send to, and by nobody else. Nothing global is registered, nothing of others is patched.
 */
export const openTracer = (options: TracerOptions): Tracer => {
  const { serviceName, version, attributes } = options;
  const { processor, stop } = createBoundedExport(options);
  const own = { "service.name": "latchkey", ...attributes, ...(serviceName !== undefined && { "service.name": serviceName }) };
  const sampler = samplerOf(options);
  const ids = new RandomIdGenerator();
  /** Of the trace that begins now, by which it was sampled. */
  let sampledId: string | undefined;
  const provider = new TracerProvider({
    sampler,
    idGenerator: { generateSpanId: ids.generateSpanId, generateTraceId: () => sampledId ?? ids.generateTraceId() },
    resource: defaultResource().merge(resourceFromAttributes({ "service.version": version, ...own })),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("latchkey", version);
  const propagator = new W3CTraceContextPropagator();

  const inSpan = async <T>(operation: TracedOperation, parent: Context, run: () => Promise<T>): Promise<T> => {
    const { name, collection } = operation;
    const title = collection === undefined ? name : `${name} ${collection}`;
    const span = tracer.startSpan(title, { kind: SpanKind.CLIENT, attributes: attributesOf(operation) }, parent);
    try {
      return await run();
    } catch (error) {
      // Its message may hold what a caller sent.
      fail(span, error instanceof Error ? error.name : "_OTHER");
      throw error;
    } finally {
      span.end();
    }
  };

  return {
    begin: ({ name, attributes: known }, headers, requestId) => {
      const from = headers.traceparent === undefined ? ROOT_CONTEXT : propagator.extract(ROOT_CONTEXT, headers, headersOf);
      const traceId = trace.getSpanContext(from)?.traceId ?? ids.generateTraceId();
      // Asked before there is a span: most calls are not sampled, and for those the tracer does twice as much.
      if (sampler.shouldSample(from, traceId, name, SpanKind.SERVER, {}, []).decision === SamplingDecision.NOT_RECORD) return undefined;
      sampledId = traceId;
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, from);
      sampledId = undefined;
      span.setAttributes({ ...known, "latchkey.request_id": requestId });
      const { spanId } = span.spanContext();
      const active: ActiveSpan = { traceId, spanId, context: trace.setSpan(ROOT_CONTEXT, span), isOver: false };
      return {
        run: (part) => runFor(active, part),
        end: (more, error) => {
          if (active.isOver) return;
          active.isOver = true;
          span.setAttributes(more);
          if (error !== undefined) fail(span, error);
          span.end();
        },
      };
    },
    operation: (operation, run) => {
      const active = activeSpan();
      return active === undefined && !operation.standsAlone ? run() : inSpan(operation, active?.context ?? ROOT_CONTEXT, run);
    },
    stop,
  };
};
