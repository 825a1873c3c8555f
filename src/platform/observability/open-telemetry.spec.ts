import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Problem } from '../errors/problem.js';
import { OpenTelemetry } from './open-telemetry.js';
import { resumed, traced, traceParent } from './tracing.js';

interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: { readonly key: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

/** An OTLP/HTTP collector that stores received spans and responds with `answer`. */
let server: Server;
let spans: ReceivedSpan[] = [];
let answer: (response: ServerResponse) => void = (response) => response.end('{}');
let opened: OpenTelemetry[] = [];
const REMOTE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

beforeAll(async () => {
  server = createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[];
      };
      spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      answer(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  await Promise.all(opened.map((tracer) => tracer.stop()));
  [opened, spans, answer] = [[], [], (response) => response.end('{}')];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function open(
  sampler: 'always_on' | 'parentbased_always_off' | 'parentbased_traceidratio' = 'always_on',
  port = (server.address() as AddressInfo).port,
): OpenTelemetry {
  const tracer = new OpenTelemetry(
    {
      url: `http://127.0.0.1:${port}/v1/traces`,
      headers: { authorization: 'secret' },
      serviceName: 's',
      resource: {},
      sampler,
      ratio: 0,
    },
    'all',
  );
  opened.push(tracer);
  return tracer;
}

/** Traces a call with two nested steps. */
async function call(tracer: OpenTelemetry, given?: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const one = tracer.call('POST', given);
  one.within(() => {
    const inner = () => tracer.step('inner', {}, async () => tracer.traceParent());
    void tracer.step('outer', { 'sealwright.format': 'raw' }, inner).then(resolve);
  });
  const parent = await promise;
  one.end('/api/v1/sign/digest', 200);
  return parent;
}

const named = (name: string) => spans.find((span) => span.name === name);

describe('traces', () => {
  it('contain a span for the request and each step, in the trace of the caller', async () => {
    const tracer = open();
    await call(tracer, REMOTE);
    await tracer.stop();
    const [root, outer, inner] = [named('POST /api/v1/sign/digest'), named('outer'), named('inner')];
    expect(spans.map(({ traceId }) => traceId)).toEqual(Array(3).fill('0af7651916cd43dd8448eb211c80319c'));
    expect([root?.parentSpanId, outer?.parentSpanId, inner?.parentSpanId]).toEqual([
      'b7ad6b7169203331',
      root?.spanId,
      outer?.spanId,
    ]);
  });

  it('continue in the process that resumes the work', async () => {
    const [here, there] = [open(), open()];
    const parent = await call(here);
    await there.resume(parent ?? '', 'signing.attempt', {}, () => there.step('hsm.sign', {}, async () => undefined));
    await Promise.all([here.stop(), there.stop()]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(named('signing.attempt')?.parentSpanId).toBe(named('inner')?.spanId);
  });

  it('start anew if the caller sends a malformed traceparent', async () => {
    const tracer = open();
    for (const given of [
      '',
      'x',
      '00-00000000000000000000000000000000-b7ad6b7169203331-01',
      `${REMOTE}-more`,
      'ff-' + REMOTE.slice(3),
    ])
      await call(tracer, given);
    await tracer.stop();
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(5);
  });

  it('contain the code of an error, but not its message', async () => {
    const tracer = open();
    const one = tracer.call('GET', undefined);
    const failed = new Promise((resolve) => {
      one.within(() => {
        const fail = async () => Promise.reject(new Problem('refused', 'key.inactive', 'ada@example.com may not'));
        void tracer.step('outer', {}, fail).catch(resolve);
      });
    });
    expect(await failed).toBeInstanceOf(Problem);
    one.end('none', 409);
    await tracer.stop();
    expect(named('outer')?.status).toEqual({ code: 2, message: 'key.inactive' });
    expect(JSON.stringify(spans)).not.toContain('ada@');
  });

  it('follow the sampling decision of the caller, and have no steps when not recorded', async () => {
    const tracer = open('parentbased_always_off');
    expect(await call(tracer)).toBeUndefined();
    await call(tracer, REMOTE);
    await tracer.stop();
    expect(spans).toHaveLength(3);
  });

  it('are disabled by default: a step only runs its work', async () => {
    expect(await traced('step', {}, async () => 7)).toBe(7);
    expect(await resumed(REMOTE, 'step', {}, async () => 8)).toBe(8);
    expect(traceParent()).toBeNull();
  });
});

describe('a trace collector', () => {
  it('that is down neither slows requests nor delays shutdown', async () => {
    const tracer = open('always_on', 9);
    const began = performance.now();
    for (let at = 0; at < 3000; at += 1) await call(tracer);
    expect(performance.now() - began).toBeLessThan(10_000);
    const stopping = performance.now();
    await tracer.stop();
    expect(performance.now() - stopping).toBeLessThan(4000);
  });

  it('that accepts data without answering does not delay shutdown', async () => {
    answer = () => undefined;
    const tracer = open();
    await call(tracer);
    const began = performance.now();
    await tracer.stop();
    expect(performance.now() - began).toBeLessThan(4000);
    server.closeAllConnections();
  });

  it.each([
    ['500', (response: ServerResponse) => response.writeHead(500).end('no')],
    ['429', (response: ServerResponse) => response.writeHead(429, { 'retry-after': '3600' }).end()],
    ['no HTTP', (response: ServerResponse) => void response.socket?.end('\0\0\0')],
    ['something else', (response: ServerResponse) => response.end('<html>'.repeat(100_000))],
    [
      'a redirect',
      (response: ServerResponse) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ],
  ])('that answers %s does not affect callers, and receives later spans', async (_name, wrong) => {
    answer = wrong;
    const tracer = open();
    for (let at = 0; at < 600; at += 1) await call(tracer);
    await sleep(50);
    answer = (response) => response.end('{}');
    spans = [];
    await tracer.stop();
    expect(spans.length).toBeGreaterThan(0);
  });
});
