import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

const MB = 1024 * 1024;
const MAX_BODY_BYTES = 256 * MB;
const CHUNK = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MB, ' '), Buffer.from('\r\n')]);
let stage: Stage;
let service: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

interface Sender {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  answer(): string;
}

/** Starts to send a body without permission, and waits for the refusal. */
async function refused(length: string, path = '/api/ingest', status = 401): Promise<Sender> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  let answer = '';
  socket.on('data', (bytes: Buffer) => (answer += bytes.toString()));
  const head = [`POST ${path} HTTP/1.1`, `Host: ${hostname}`, 'Content-Type: application/json', length];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
  return { socket, closed, answer: () => answer };
}

describe('a rejected body that is still being sent', () => {
  it.concurrent('is read up to the largest body size of any route', async () => {
    const { socket, closed } = await refused('Transfer-Encoding: chunked');
    const send = () => {
      while (!socket.destroyed && socket.write(CHUNK));
    };
    socket.on('drain', send);
    send();
    await closed;
    expect(socket.bytesWritten).toBeGreaterThan(MAX_BODY_BYTES);
    expect((await service.call('GET', '/actuator/health/liveness')).status).toBe(200);
  });

  it.concurrent('has no more time than an accepted one', async () => {
    const started = performance.now();
    const { closed } = await refused('Content-Length: 1000000');
    await closed;
    expect(performance.now() - started).toBeGreaterThan(15_000);
  });

  it.concurrent('leaves the connection usable for the next call once it has arrived completely', async () => {
    const { socket, answer } = await refused('Content-Length: 1000000');
    socket.write(Buffer.alloc(MB, ' ').subarray(0, 1_000_000));
    socket.write('GET /actuator/health/liveness HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n');
    await once(socket, 'end');
    expect(answer()).toMatch(/^HTTP\/1.1 401 [^]*\}HTTP\/1.1 200 /);
  });
});

it.each([
  ['/api/v1/sign/batch', 401],
  ['/api/v1/verify', 401],
  ['/v1/transit/sign/release', 403],
  ['/v1/hosts/import', 401],
])('a stranger’s body for %s above the usual limit is refused before it arrives', async (path, status) => {
  const { socket } = await refused('Content-Length: 100000', path, status);
  socket.destroy();
});

it('a shutdown is not delayed by a rejected body that is still being sent', async () => {
  const { socket, closed } = await refused('Content-Length: 100000000');
  const sending = setInterval(() => socket.write(Buffer.alloc(MB, ' ')), 100);
  const stopped = service.kill('SIGTERM');
  await Promise.race([closed, sleep(10_000)]);
  clearInterval(sending);
  expect(socket.destroyed).toBe(true);
  expect(await stopped).toBe('SIGTERM');
});
