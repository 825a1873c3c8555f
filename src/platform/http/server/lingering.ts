import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { finished } from 'node:stream/promises';
import { dueBytes, PACE } from '../bodies/arriving-bodies.js';
import { MAX_REQUEST_BODY_BYTES } from '../bodies/body-limits.js';
import type { GracefulShutdown } from './graceful-shutdown.js';

const LOOK_AGAIN_MS = 1000;
const TOO_SLOW = 408;

/**
 * An answer to a request that is still coming would be lost if the connection were closed behind it: what arrives at a closed socket is answered
 * by a reset, which discards an answer that the client has not read yet (RFC 9112 section 9.6). Proxies that speak HTTP/1.0 would answer 502 in place
 * of it. So the answer leaves at once, the rest of the body is read and thrown away, and the connection ends after that.
 */
export function lingerAfterRefusals(server: FastifyInstance, closing: GracefulShutdown): void {
  server.addHook('onSend', (request, reply, payload, done) => {
    const isComing = !request.raw.complete && hasBody(request);
    // Who was too slow has had his time.
    if (isComing && reply.statusCode !== TOO_SLOW && !closing.begun) void linger(request, reply, closing);
    done(null, payload);
  });
}

/** RFC 9112 section 6.3 */
function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

async function linger({ raw: request }: FastifyRequest, reply: FastifyReply, closing: GracefulShutdown): Promise<void> {
  const { raw: response } = reply;
  const { socket } = request;
  // Node closes behind an answer that says so, or whose request did.
  const isLast = !response.shouldKeepAlive;
  reply.removeHeader('connection');
  response.shouldKeepAlive = true;
  request.resume();
  const before = socket.bytesRead;
  const due = dueBytes(PACE);
  const watch = setInterval(() => {
    const read = socket.bytesRead - before;
    if (read < due() || read > MAX_REQUEST_BODY_BYTES || closing.begun) socket.destroy();
  }, LOOK_AGAIN_MS).unref();
  await Promise.allSettled([finished(request), finished(response)]);
  clearInterval(watch);
  if (isLast) socket.destroySoon();
}
