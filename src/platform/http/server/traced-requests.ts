import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TracedCall } from '../../tracing/tracer.js';
import { activeTracer } from '../../tracing/tracing.js';

/** Probes and scrapes come every few seconds, and nobody looks for them in a trace. */
const UNTRACED = /^\/(?:actuator|metrics)(?:\/|\?|$)/;

/** Makes a span of each call, which the spans of its steps belong to. Does nothing while tracing is off. */
export function traceRequests(server: FastifyInstance): void {
  const tracer = activeTracer();
  if (tracer === undefined) return;
  const calls = new WeakMap<FastifyRequest, TracedCall>();
  server.addHook('onRequest', (request, _reply, done) => {
    if (UNTRACED.test(request.url)) return done();
    const given = request.headers['traceparent'];
    const call = tracer.call(request.method, typeof given === 'string' ? given : undefined);
    calls.set(request, call);
    call.within(() => done());
  });
  server.addHook('onResponse', (request, reply, done) => {
    calls.get(request)?.end(request.routeOptions.url ?? 'none', reply.statusCode);
    done();
  });
}
