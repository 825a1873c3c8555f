import fastify, { type FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { RawBody, rawBodyOf, readRawBodies } from './raw-body.js';

it('a raw body route accepts its media types only', async () => {
  const server = fastify();
  readRawBodies(server, async (request: FastifyRequest, body: IncomingMessage) => {
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece as Buffer);
    return rawBodyOf(request, Buffer.concat(pieces));
  });
  for (const path of ['/one', '/two'])
    server.post(path, { config: { raw: { limit: 4, types: ['application/pkcs12'] } } }, ({ body, routeOptions }) => ({
      bytes: (body as RawBody).bytes.toString(),
      limit: routeOptions.bodyLimit,
    }));
  const send = (type: string) =>
    server.inject({ method: 'POST', url: '/two', headers: { 'content-type': type }, payload: 'abcd' });
  expect((await send('application/pkcs12; charset=binary')).json()).toEqual({ bytes: 'abcd', limit: 4 });
  expect((await send('application/x-other')).statusCode).toBe(415);
  await server.close();
});
