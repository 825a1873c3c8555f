import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TracingSettings } from '../config/tracing-settings.js';

/** Facts about a step that are safe to show: kinds and names of code, never a digest, an address or a person. */
export type SpanFacts = Readonly<Record<string, string | number>>;

/** A call while it is answered. */
export interface TracedCall {
  /** Runs the rest of the call as a part of its trace. */
  within(work: () => void): void;
  end(route: string, status: number): void;
}

/** Makes spans of what is done. */
export interface Tracer {
  /** A step of the trace that this work belongs to; without one it is only done. */
  step<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>;
  /** Work that was handed over: it goes on in the trace that is named, in whatever process. */
  resume<Result>(traceParent: string, name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>;
  /** A call that came in, with its `traceparent` if it has one. */
  call(method: string, traceParent: string | undefined): TracedCall;
  /** W3C Trace Context of the present step, for what is handed over; undefined outside of a trace that is recorded. */
  traceParent(): string | undefined;
  /** Sends what is left, within a moment. */
  stop(): Promise<void>;
}

/** Undefined while tracing is off: then none of its packages is loaded, and a step is the work itself. */
let tracer: Tracer | undefined;

/** Turns tracing on when the settings name a collector. Called once, before the first call is answered. */
export async function startTracing(settings: TracingSettings | undefined, role: string): Promise<void> {
  if (settings === undefined) return;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  tracer = new OpenTelemetry(settings, role);
}

/** The tracer, if tracing is on. */
export function activeTracer(): Tracer | undefined {
  return tracer;
}

/** Does the work as a step of the trace that it belongs to. */
export function traced<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result> {
  return tracer === undefined ? work() : tracer.step(name, facts, work);
}

/** Does work that was handed over, in the trace of who handed it over. */
export function resumed<Result>(
  parent: string | null,
  name: string,
  facts: SpanFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  return tracer === undefined || parent === null ? work() : tracer.resume(parent, name, facts, work);
}

/** What goes with work that is handed over, so that it stays in its trace; null while there is no trace. */
export function traceParent(): string | null {
  return tracer?.traceParent() ?? null;
}

/** Spans that were ended are sent before the process ends, if its collector takes them. */
@Injectable()
export class TracingEnd implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    await tracer?.stop();
  }
}
