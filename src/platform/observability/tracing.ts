import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TracingSettings } from '../config/tracing-settings.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SpanFacts, TracedCall, Tracer } from './open-telemetry.js';

/** Active tracer; undefined while tracing is off. The tracing packages are then not loaded, and a step only runs its work. */
let tracer: Tracer | undefined;

/** startTracing enables tracing if a collector is configured. Call startTracing once, before the first request is served. */
export async function startTracing(settings: TracingSettings | undefined, role: string): Promise<void> {
  if (settings === undefined) return;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  tracer = new OpenTelemetry(settings, role);
}

/** traced runs work as a step of the current trace. */
export function traced<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result> {
  return tracer === undefined ? work() : tracer.step(name, facts, work);
}

/** tracedCommit runs a commit of a table's rows as a step of the trace, with attributes of OpenTelemetry's database conventions. */
export function tracedCommit<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  return traced('db.commit', { 'db.system.name': 'postgresql', 'db.collection.name': table }, work);
}

/** resumed runs queued work in the trace of the request that queued the work. */
export function resumed<Result>(
  parent: string | null,
  name: string,
  facts: SpanFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  return tracer === undefined || parent === null ? work() : tracer.resume(parent, name, facts, work);
}

/** traceParent returns the trace context to store with queued work; null without a trace. */
export function traceParent(): string | null {
  return tracer?.traceParent() ?? null;
}

/** TracingEnd exports completed spans before the process ends, if the collector accepts them. */
@Injectable()
export class TracingEnd implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    await tracer?.stop();
  }
}

/** Probes and scrapes arrive every few seconds and are not worth tracing. */
const UNTRACED = /^\/(?:actuator|metrics)(?:\/|\?|$)/;

/** traceRequests creates a span for each request, which contains the spans of its steps. Does nothing if tracing is off. */
export function traceRequests(server: FastifyInstance): void {
  const active = tracer;
  if (active === undefined) return;
  const calls = new WeakMap<FastifyRequest, TracedCall>();
  server.addHook('onRequest', (request, _reply, done) => {
    if (UNTRACED.test(request.url)) return done();
    const given = request.headers['traceparent'];
    const call = active.call(request.method, typeof given === 'string' ? given : undefined);
    calls.set(request, call);
    call.within(() => done());
  });
  server.addHook('onResponse', (request, reply, done) => {
    calls.get(request)?.end(request.routeOptions.url ?? 'none', reply.statusCode);
    done();
  });
}
