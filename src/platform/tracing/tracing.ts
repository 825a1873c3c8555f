import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TracingSettings } from '../config/tracing-settings.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SpanFacts, TracedCall, Tracer } from './open-telemetry.js';

/** Undefined while tracing is off: then none of its packages is loaded, and a step is the work itself. */
let tracer: Tracer | undefined;

/** Turns tracing on when the settings name a collector. Called once, before the first call is answered. */
export async function startTracing(settings: TracingSettings | undefined, role: string): Promise<void> {
  if (settings === undefined) return;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  tracer = new OpenTelemetry(settings, role);
}

/** Does the work as a step of the trace that it belongs to. */
export function traced<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result> {
  return tracer === undefined ? work() : tracer.step(name, facts, work);
}

/** Commits rows of a table as a step of the trace; attributes by OpenTelemetry's conventions for databases. */
export function tracedCommit<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  return traced('db.commit', { 'db.system.name': 'postgresql', 'db.collection.name': table }, work);
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

/** Probes and scrapes come every few seconds, and nobody looks for them in a trace. */
const UNTRACED = /^\/(?:actuator|metrics)(?:\/|\?|$)/;

/** Makes a span of each call, which the spans of its steps belong to. Does nothing while tracing is off. */
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
