import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArrivingBodies } from './arriving-bodies.js';

const LIMIT = 100_000;
const bodies = new ArrivingBodies();
bodies.allow({ graceMs: 100, bytesPerSecond: 40_000 });
let server: FastifyInstance;
let port: number;
const taken: Buffer[] = [];

beforeAll(async () => {
  server = Fastify({ bodyLimit: LIMIT });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request: FastifyRequest, body: IncomingMessage) => bodies.read(request, body));
  server.post('/', (request) => {
    taken.push(request.body as Buffer);
    return 'taken';
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  ({ port } = server.server.address() as AddressInfo);
});
afterAll(() => server.close());

/** Sends the bytes unchanged, with a pause between parts, and returns the status line; empty without a response. */
const send = (head: string, ...parts: (string | Buffer)[]) => sendEvery(5, head, ...parts);

/** Sends the parts at intervals of `ms`. Like real clients, receives the response while sending. */
async function sendEvery(ms: number, head: string, ...parts: (string | Buffer)[]): Promise<string> {
  taken.length = 0;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let answer = '';
  socket.on('data', (bytes) => (answer += bytes.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve).on('error', () => undefined));
  socket.write(`POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Type: a/b\r\n${head}\r\n\r\n`);
  for (const part of parts) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (answer === '') socket.write(part);
  }
  socket.end();
  await closed;
  return answer.split('\r\n', 1)[0] ?? '';
}

const OK = 'HTTP/1.1 200 OK';
const chunk = (size: number) => [`${size.toString(16)}\r\n`, Buffer.alloc(size, 1), '\r\n'];

describe('the bytes of a body', () => {
  it('are joined from chunks of any size', async () => {
    const bytes = Buffer.from(Array.from({ length: LIMIT }, (_, i) => i % 251));
    const parts = [bytes.subarray(0, 1), bytes.subarray(1, 70_000), bytes.subarray(70_000)];
    expect(await send(`Content-Length: ${LIMIT}`, ...parts)).toBe(OK);
    expect(taken).toEqual([bytes]);
  });

  it('are limited to the received bytes if no length was declared', async () => {
    expect(await send('Transfer-Encoding: chunked', ...chunk(60_000), ...chunk(40_000), '0\r\n\r\n')).toBe(OK);
    expect(taken).toEqual([Buffer.alloc(LIMIT, 1)]);
  });

  it('are empty for an empty body', async () => {
    expect(await send('Content-Length: 0')).toBe(OK);
  });

  it('are rejected by declared length before they arrive, otherwise once they exceed the limit', async () => {
    expect(await send(`Content-Length: ${LIMIT + 1}`)).toMatch(/ 413 /);
    expect(await send('Transfer-Encoding: chunked', ...chunk(60_000), ...chunk(40_001))).toMatch(/ 413 /);
    expect(taken).toEqual([]);
  });

  it('are not treated as complete if the client disconnects', async () => {
    expect(await send('Content-Length: 10', 'abc')).not.toBe(OK);
    expect(await send('Transfer-Encoding: chunked', '5\r\nab')).not.toBe(OK);
    expect(taken).toEqual([]);
  });

  it('may arrive as slowly as the minimum rate allows', async () => {
    const tenth = Buffer.alloc(LIMIT / 10, 1);
    const declared = `Content-Length: ${LIMIT}`;
    expect(await sendEvery(60, declared, ...Array.from({ length: 10 }, () => tenth))).toBe(OK);
    expect(taken).toEqual([Buffer.alloc(LIMIT, 1)]);
    // Sending the parts takes longer than one second, the interval at which the transfer rate is checked.
    const drops = Array.from({ length: 7 }, () => 'a');
    expect(await sendEvery(200, declared, ...drops)).toMatch(/ 408 /);
    expect(await sendEvery(200, 'Transfer-Encoding: chunked', 'ff\r\n', ...drops)).toMatch(/ 408 /);
    expect(taken).toEqual([]);
  });

  it('are rejected when the handler no longer needs them', async () => {
    const answer = sendEvery(40, `Content-Length: ${LIMIT}`, 'a', 'b', 'c');
    setTimeout(() => bodies.refuse(), 60);
    expect(await answer).toMatch(/ 408 /);
  });
});
