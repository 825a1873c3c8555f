import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebReceiver } from '../fakes/web-receiver.js';
import type { Service } from '../support/service.js';
import { digestOf, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly role: string;
}
interface Exported {
  readonly resourceSpans: {
    readonly resource: {
      readonly attributes: { readonly key: string; readonly value: { readonly stringValue?: string } }[];
    };
    readonly scopeSpans: { readonly spans: Omit<Span, 'role'>[] }[];
  }[];
}

const BUNDLED = join(import.meta.dirname, '../../dist/bundled');
const collector = new WebReceiver();
let stage: Stage;
let api: Service;
let apiKey: string;

beforeAll(async () => {
  await collector.start();
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}` };
  [api] = await Promise.all([stage.start({ role: 'api', settings }), stage.start({ role: 'worker', settings })]);
});
afterAll(async () => {
  await stage.close();
  await collector.stop();
});

function spans(): Span[] {
  return collector.received
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body }) => (JSON.parse(body) as Exported).resourceSpans)
    .flatMap(({ resource, scopeSpans }) => {
      const role = resource.attributes.find(({ key }) => key === 'sealwright.role')?.value.stringValue ?? '';
      return scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, role })));
    });
}

/** Signs within a caller's trace and returns the spans of the trace once there are at least `wanted` spans. */
async function traced(traceId: string, body: object, wanted: number): Promise<string[]> {
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  const { status } = await api.call('POST', '/api/v1/sign/digest', { key: apiKey, body, headers });
  expect(status).toBeLessThan(300);
  const found = await until('the spans of the trace', 30, async () => {
    const own = spans().filter((span) => span.traceId === traceId);
    return own.length >= wanted && own;
  });
  return found.map(({ role, name }) => `${role}: ${name}`).toSorted();
}

describe('traces', () => {
  it('of a signature contain a span for the call, the policies, the commits and the HSM', async () => {
    expect(await traced('0af7651916cd43dd8448eb211c80319a', { digest: digestOf('one') }, 5)).toEqual([
      'api: POST /api/v1/sign/digest',
      'api: approval.policies',
      'api: db.commit',
      'api: db.commit',
      'api: hsm.sign',
    ]);
  });

  it('continue in the worker that signs in the background', async () => {
    expect(await traced('0af7651916cd43dd8448eb211c80319b', { digest: digestOf('two'), async: true }, 6)).toEqual([
      'api: POST /api/v1/sign/digest',
      'api: approval.policies',
      'api: db.commit',
      'worker: db.commit',
      'worker: hsm.sign',
      'worker: signing.attempt',
    ]);
  });

  it('contain no digest, no credential and no caller address', () => {
    const text = collector.received.map(({ body }) => body).join('');
    for (const secret of [digestOf('one'), digestOf('two'), apiKey, '127.0.0.1']) expect(text).not.toContain(secret);
  });

  it('use modules that a process without tracing does not load', () => {
    const read = (file: string) => readFileSync(join(BUNDLED, file), 'utf8');
    const hasTraces = (file: string) => read(file).includes('OTLPTraceExporter');
    const reached = new Set(['main.js']);
    for (const file of reached)
      for (const [, imported = ''] of read(file).matchAll(/^(?:import|export)\b[^;]*?["']\.\/([\w.-]+\.js)["'];/gm))
        reached.add(imported);
    expect([...reached].filter(hasTraces)).toEqual([]);
    expect(
      readdirSync(BUNDLED)
        .filter((file) => file.endsWith('.js'))
        .some(hasTraces),
    ).toBe(true);
  });

  it('with a hanging collector delay no signature', async () => {
    const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-01' };
    const timed = async () => {
      const began = performance.now();
      for (let at = 0; at < 15; at += 1) {
        const body = { digest: digestOf(`timed ${at}`) };
        expect((await api.call('POST', '/api/v1/sign/digest', { key: apiKey, body, headers })).status).toBe(200);
      }
      return performance.now() - began;
    };
    const before = await timed();
    collector.reacts(() => undefined);
    // Signing takes no longer than with a responsive collector, with a margin for other load on the machine.
    expect(await timed()).toBeLessThan(before * 3 + 3000);
  });
});
