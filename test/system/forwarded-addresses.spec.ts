import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ settings: { SVC_TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' } });
});
afterAll(() => stage.close());

/**
 * Some load balancers append the port of the connection to the address. The port differs for each call, so rate limits by address and port would never apply.
 */
it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.10:54321', '203.0.113.10'],
  ['[2001:db8::7]:4711', '2001:db8::7'],
  ['203.0.113.11, 10.1.2.3:443', '203.0.113.11'],
  ['::ffff:203.0.113.12', '203.0.113.12'],
  ['198.51.100.1, 203.0.113.13:1', '203.0.113.13'],
  ['unknown', '127.0.0.1'],
  ['203.0.113.14, garbage, 10.9.9.9', '10.9.9.9'],
])('X-Forwarded-For: %s yields the source %s', async (header, source) => {
  const requestId = crypto.randomUUID();
  const headers = { 'x-forwarded-for': header, 'x-request-id': requestId };
  expect((await service.call('GET', '/api/v1/audit/entries', { headers })).status).toBe(401);
  const [entry] = await until('the refusal is recorded', 30, async () => {
    const rows = await stage.sql<{ source: string }>('SELECT source FROM audit_entry WHERE correlation = $1', [
      requestId,
    ]);
    return rows.length > 0 && rows;
  });
  expect(entry?.source).toBe(source);
});
