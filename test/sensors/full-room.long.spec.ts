import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LARGE_BODY_MEMORY_BYTES } from '../../src/platform/http/bodies/body-limits.js';
import { about, algorithm, bom } from '../inventory/documents.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { registerSensor } from './sensor-calls.js';

const PROGRAM = join(import.meta.dirname, '../../dist/sealwright.js');
const MB = 1024 * 1024;
const directory = mkdtempSync(join(tmpdir(), 'sealwright-room-'));
let stage: Stage;
let service: Service;
let key: string;
const open: ClientRequest[] = [];

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(async () => {
  leave();
  await stage.close();
  rmSync(directory, { recursive: true });
});

interface Early {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: number;
}

/** Announces a body of this length without sending it. Returns the response if the service responds immediately. */
async function announce(bytes: number | undefined, by?: string): Promise<Early | undefined> {
  const length = bytes === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': bytes };
  const credential = by === undefined ? {} : { authorization: `Bearer ${by}` };
  const headers = { 'content-type': 'application/json', ...length, ...credential };
  const call = request(`${service.url}/api/ingest`, { method: 'POST', headers });
  open.push(call.on('error', () => undefined));
  call.flushHeaders();
  const early = await Promise.race([once(call, 'response'), sleep(3000, undefined)]);
  if (early === undefined) return undefined;
  const [response] = early;
  const { code } = JSON.parse(await text(response)) as { code: string };
  return { status: response.statusCode, code, retryAfter: Number(response.headers['retry-after'] ?? 0) };
}

/** Sends the whole body before it reads the response, with `Connection: close`, as Python's urllib and HTTP/1.0 proxies do. */
async function sendAll(bytes: number, version: string, credential: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const head = [
    `POST /api/ingest HTTP/${version}`,
    `Host: ${hostname}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${bytes}`,
    `Authorization: Bearer ${credential}`,
  ];
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes, ' '), (error) => (error ? reject(error) : resolve()));
  });
  return text(socket);
}

/** Closes the connections of all announced requests. */
function leave(): void {
  for (const call of open.splice(0)) call.destroy();
}

const push = (name: string) =>
  service.call('POST', '/api/ingest', { key, body: bom([algorithm({ name: 'AES-256-GCM' })], about(name)) });

describe('the memory for large bodies', () => {
  it('is for authorized reporters: nobody else uses any, or has a byte read', async () => {
    const { key: reader } = await newApiKey(service, key, ['inventory:read']);
    for (let i = 0; i < 3; i += 1) {
      expect(await announce(30 * MB)).toMatchObject({ status: 401, code: 'auth.missing' });
      expect(await announce(30 * MB, reader)).toMatchObject({ status: 403, code: 'insufficient_scope' });
    }
    expect((await push('free')).status).toBe(200);
  });

  it('is exhausted at 64 MB: further calls get Retry-After, and reads continue', async () => {
    expect([await announce(31 * MB, key), await announce(32 * MB, key)]).toEqual([undefined, undefined]);
    const refused = await announce(2 * MB, key);
    expect(refused).toMatchObject({ status: 429, code: 'request.busy' });
    expect(refused?.retryAfter).toBeGreaterThanOrEqual(1);
    expect(refused?.retryAfter).toBeLessThanOrEqual(30);
    expect((await service.call('GET', '/api/assets', { key })).status).toBe(200);
    // Small bodies still fit, and even bodies larger than half of the available memory are accepted.
    expect((await push('small')).status).toBe(200);
    const fit = Math.max(1, Math.floor(LARGE_BODY_MEMORY_BYTES / (200 * MB)));
    for (let i = 0; i < fit; i += 1) expect(await announce(200 * MB, key)).toBeUndefined();
    const behind = await announce(200 * MB, key);
    expect(behind?.status).toBe(429);
    // Retry-After includes the time needed for the previous bodies, and is therefore longer than when the memory is free.
    expect(behind?.retryAfter).toBeGreaterThan(10);
    expect(await announce(undefined, key)).toMatchObject({ status: 429 });
    for (const version of ['1.1', '1.0']) {
      expect(await sendAll(30 * MB, version, key)).toMatch(/^HTTP\/1.1 429 (?:.*\r\n)*\r\n\{.*"request.busy".*\}$/);
      expect(await sendAll(30 * MB, version, 'nobody')).toMatch(/^HTTP\/1.1 401 /);
    }
    leave();
    await until('room', 30, async () => (await announce(2 * MB, key)) === undefined);
    leave();
  });

  it('delays a sensor while exhausted, which pushes once memory is available', async () => {
    writeFileSync(join(directory, 'app.py'), 'import hashlib\nhashlib.md5(b"")\n');
    const { key: token } = await registerSensor(service, key, { heartbeatSeconds: 3600 });
    const fill = 64 * MB - 100 * 1024;
    expect([await announce(fill / 2, key), await announce(fill / 2, key)]).toEqual([undefined, undefined]);
    assertProblem(await push('late'), { status: 429, code: 'request.busy' });
    const env = { PATH: process.env['PATH'], HOME: directory, SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: token };
    const args = [PROGRAM, 'sensor', directory, '--spool', join(directory, '.spool'), '--source', 'web1'];
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
    const refusals = () =>
      stage.sql(`SELECT 1 FROM audit_entry WHERE detail ->> 'code' = 'request.busy' AND actor_name LIKE 'sensor %'`);
    await until('a refusal of the sensor', 30, async () => (await refusals()).length > 0);
    leave();
    if (child.exitCode === null) await once(child, 'close');
    expect(child.exitCode).toBe(0);
    const places = await stage.sql(
      `SELECT o.line FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id WHERE a.name = 'MD5'`,
    );
    expect(places).toEqual([{ line: 2 }]);
  });
});
