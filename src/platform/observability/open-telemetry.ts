import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer as SdkTracer,
  trace,
} from '@opentelemetry/api';
import { Logger } from '@nestjs/common';
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../errors/problem.js';
import type { TracingSettings } from '../config/tracing-settings.js';
import { PRODUCT_BUILD, PRODUCT_VERSION } from './product-version.js';
import { oneLine } from '../text/truncate.js';

/** SpanFacts are attributes of a step that are safe to expose: kinds and names defined in code, never a digest, an address or a person. */
export type SpanFacts = Readonly<Record<string, string | number>>;

/** TracedCall is a request in progress. */
export interface TracedCall {
  /** Runs the rest of the request within its trace. */
  within(work: () => void): void;
  end(route: string, status: number): void;
}

/** Tracer creates spans. */
export interface Tracer {
  /** Runs work as a step of the current trace. Without a trace, only runs the work. */
  step<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>;
  /** Runs work from another process or an earlier transaction in the trace given by `traceParent`. */
  resume<Result>(traceParent: string, name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>;
  /** Starts the span of an incoming request, in the trace of its `traceparent` header, if present. */
  call(method: string, traceParent: string | undefined): TracedCall;
  /** Returns the W3C Trace Context of the current step, for work processed later; undefined outside of a recorded trace. */
  traceParent(): string | undefined;
  /** Exports the remaining spans within a time limit. */
  stop(): Promise<void>;
}

/** Maximum number of spans waiting for export. Further spans are dropped. */
const MAX_WAITING_SPANS = 2048;
const BATCH_SIZE = 512;
const EXPORT_TIMEOUT_MS = 5000;
/** Maximum wait for the collector when the process ends. */
const STOP_WITHIN_MS = 2000;
const SAMPLED = 1;
const MAX_REASON = 200;

/** OpenTelemetry creates spans and exports them to a collector with OTLP over HTTP. */
export class OpenTelemetry implements Tracer {
  private readonly provider: TracerProvider;
  private readonly tracer: SdkTracer;
  private readonly contexts = new AsyncLocalStorage<Context>();

  constructor(settings: TracingSettings, role: string) {
    const logger = new Logger('Tracing');
    setGlobalErrorHandler((error) => logger.warn(`unable to export spans: ${reasonOf(error)}`));
    const exporter = new OTLPTraceExporter({
      url: settings.url,
      headers: settings.headers,
      timeoutMillis: EXPORT_TIMEOUT_MS,
      concurrencyLimit: MAX_WAITING_SPANS / BATCH_SIZE,
    });
    this.provider = new TracerProvider({
      resource: resourceFromAttributes({
        ...settings.resource,
        'service.name': settings.serviceName,
        'service.version': PRODUCT_BUILD,
        'sealwright.role': role,
      }),
      sampler: samplerOf(settings),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter,
          maxQueueSize: MAX_WAITING_SPANS,
          maxExportBatchSize: BATCH_SIZE,
          exportTimeoutMillis: EXPORT_TIMEOUT_MS * 2,
        }),
      ],
    });
    this.tracer = this.provider.getTracer('sealwright', PRODUCT_VERSION);
  }

  step<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result> {
    const parent = this.contexts.getStore();
    // A step outside of a recorded trace has no overhead.
    if (parent === undefined || trace.getSpan(parent)?.isRecording() !== true) return work();
    return this.run(this.tracer.startSpan(name, { attributes: facts }, parent), parent, work);
  }

  resume<Result>(traceParent: string, name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result> {
    const parent = contextOf(traceParent);
    const span = this.tracer.startSpan(name, { kind: SpanKind.CONSUMER, attributes: facts }, parent);
    return this.run(span, parent, work);
  }

  call(method: string, traceParent: string | undefined): TracedCall {
    const parent = traceParent === undefined ? ROOT_CONTEXT : contextOf(traceParent);
    const attributes = { 'http.request.method': method };
    const span = this.tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    return {
      within: (work) => this.contexts.run(trace.setSpan(parent, span), work),
      end: (route, status) => {
        span.updateName(`${method} ${route}`);
        span.setAttributes({ 'http.route': route, 'http.response.status_code': status });
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  traceParent(): string | undefined {
    const context = this.contexts.getStore();
    const span = context === undefined ? undefined : trace.getSpanContext(context);
    if (span === undefined || (span.traceFlags & SAMPLED) === 0) return undefined;
    return `00-${span.traceId}-${span.spanId}-01`;
  }

  async stop(): Promise<void> {
    const sent = this.provider.shutdown().catch(() => undefined);
    await Promise.race([sent, sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
  }

  private async run<Result>(span: Span, parent: Context, work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.contexts.run(trace.setSpan(parent, span), work);
    } catch (error) {
      // Only the code identifies the error, because messages may quote input.
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Problem ? error.code : 'internal' });
      throw error;
    } finally {
      span.end();
    }
  }
}

/** Returns the context of a `traceparent`. A malformed `traceparent` starts a new trace (W3C Trace Context section 3.2). */
function contextOf(traceParent: string): Context {
  const remote = parseTraceParent(traceParent);
  return remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
}

/** Returns the reason as one line. OpenTelemetry may throw errors, strings or other values. */
function reasonOf(error: unknown): string {
  const { message = String(error) } = error as Partial<Error>;
  return oneLine(message, MAX_REASON);
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const [isParentBased, own] = [sampler.startsWith('parentbased_'), sampler.replace('parentbased_', '')];
  const root =
    own === 'always_on'
      ? new AlwaysOnSampler()
      : own === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}
