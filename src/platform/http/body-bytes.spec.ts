import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bodyBytes } from './body-bytes.js';

const LIMIT = 100_000;
let server: FastifyInstance;
let port: number;
const taken: Buffer[] = [];

beforeAll(async () => {
  server = Fastify({ bodyLimit: LIMIT });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request: FastifyRequest, body: IncomingMessage) => bodyBytes(request, body));
  server.post('/', (request) => {
    taken.push(request.body as Buffer);
    return 'taken';
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  ({ port } = server.server.address() as AddressInfo);
});
afterAll(() => server.close());

/** Sends these bytes as they are, with a pause between them, and answers the status line; empty when nobody answered. */
async function send(head: string, ...parts: (string | Buffer)[]): Promise<string> {
  taken.length = 0;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Type: a/b\r\n${head}\r\n\r\n`);
  for (const part of parts) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    socket.write(part);
  }
  socket.end();
  const answer = await text(socket).catch(() => '');
  return answer.split('\r\n', 1)[0] ?? '';
}

const OK = 'HTTP/1.1 200 OK';
const chunk = (size: number) => [`${size.toString(16)}\r\n`, Buffer.alloc(size, 1), '\r\n'];

describe('the bytes of a body', () => {
  it('are those that came, in whatever pieces', async () => {
    const bytes = Buffer.from(Array.from({ length: LIMIT }, (_, i) => i % 251));
    const parts = [bytes.subarray(0, 1), bytes.subarray(1, 70_000), bytes.subarray(70_000)];
    expect(await send(`Content-Length: ${LIMIT}`, ...parts)).toBe(OK);
    expect(taken).toEqual([bytes]);
  });

  it('are as many as came when the length was not told', async () => {
    expect(await send('Transfer-Encoding: chunked', ...chunk(60_000), ...chunk(40_000), '0\r\n\r\n')).toBe(OK);
    expect(taken).toEqual([Buffer.alloc(LIMIT, 1)]);
  });

  it('are none for a body of none', async () => {
    expect(await send('Content-Length: 0')).toBe(OK);
  });

  it('are refused by their length before they come, and else when they are too many', async () => {
    expect(await send(`Content-Length: ${LIMIT + 1}`)).toMatch(/ 413 /);
    expect(await send('Transfer-Encoding: chunked', ...chunk(60_000), ...chunk(40_001))).toMatch(/ 413 /);
    expect(taken).toEqual([]);
  });

  it('are not taken for whole when the sender breaks off', async () => {
    expect(await send('Content-Length: 10', 'abc')).not.toBe(OK);
    expect(await send('Transfer-Encoding: chunked', '5\r\nab')).not.toBe(OK);
    expect(taken).toEqual([]);
  });
});
