import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

/** Reports whether the import thread is running. The thread may end between the two reads. Linux truncates thread names to 15 characters. */
function isThere(): boolean {
  const tasks = `/proc/${service.pid}/task`;
  const files = readdirSync(tasks).map((thread) => join(tasks, thread, 'comm'));
  return files.some((file) => existsSync(file) && readFileSync(file, 'utf8').startsWith('inventory-inges'));
}

const ingest = async (name: string) => {
  const headers = { 'content-type': 'application/vnd.cyclonedx+json' };
  const body = bom([algorithm({ name: 'RSA-2048', at: 'a.ts' })], about(name));
  expect(await service.call('POST', '/api/ingest', { key: apiKey, body, headers })).toMatchObject({
    status: 200,
    body: { received: expect.any(Number) },
  });
};

describe.runIf(process.platform === 'linux')('the ingestion thread', () => {
  it('starts when there is work, ends when there is none, and starts again', async () => {
    expect(isThere()).toBe(false);
    await ingest('first');
    expect(isThere()).toBe(true);
    await until('the end of the thread', 60, () => Promise.resolve(!isThere()));
    await ingest('second');
    expect(isThere()).toBe(true);
  });
});
