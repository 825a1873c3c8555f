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

/** A thread may end between the two looks. Linux keeps 15 characters of its name. */
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

describe.runIf(process.platform === 'linux')('the thread that takes documents in', () => {
  it('is there when there is something to do, ends when there is not, and comes again', async () => {
    expect(isThere()).toBe(false);
    await ingest('first');
    expect(isThere()).toBe(true);
    await until('the end of the thread', 60, () => Promise.resolve(!isThere()));
    await ingest('second');
    expect(isThere()).toBe(true);
  });
});
