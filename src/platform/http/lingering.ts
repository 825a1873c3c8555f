import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { finished } from 'node:stream/promises';
import type { Closing } from './closing.js';

/** So long the rest of a body is read that was refused before it was there. */
const LINGER_MS = 10_000;

/**
 * An answer to a request that is still coming would be lost if the connection were closed behind it: what arrives at a closed socket is answered
 * by a reset, which takes the answer from whoever has not read it yet (RFC 9112 section 9.6). Proxies that speak HTTP/1.0 would tell 502 in place
 * of what we said. So the answer leaves at once, the rest of the body is read and thrown away, and the connection ends after that.
 */
export function lingerAfterRefusals(server: FastifyInstance, closing: Closing): void {
  server.addHook('onSend', (request, reply, payload, done) => {
    if (!request.raw.complete && !closing.begun) void linger(request, reply);
    done(null, payload);
  });
}

async function linger({ raw: request }: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { raw: response } = reply;
  const { socket } = request;
  // Node closes behind an answer that says so, or whose request did.
  const isLast = !response.shouldKeepAlive;
  reply.removeHeader('connection');
  response.shouldKeepAlive = true;
  request.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  await Promise.allSettled([finished(request), finished(response)]);
  clearTimeout(timer);
  if (isLast) socket.destroySoon();
}
