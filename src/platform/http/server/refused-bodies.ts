import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { finished } from 'node:stream/promises';
import { dueBytes, PACE } from '../bodies/arriving-bodies.js';
import { MAX_REQUEST_BODY_BYTES } from '../bodies/body-limits.js';
import type { GracefulShutdown } from './graceful-shutdown.js';

const LOOK_AGAIN_MS = 1000;
const TOO_SLOW = 408;

/**
 * lingerAfterRefusals keeps the connection open after responding to a request whose body is still arriving. Data that arrives at a closed socket triggers a
 * reset, which discards a response that the client has not read yet (RFC 9112 section 9.6). An HTTP/1.0 proxy would then return 502. The response is sent
 * immediately, the rest of the body is discarded, and then the connection closes.
 */
export function lingerAfterRefusals(server: FastifyInstance, closing: GracefulShutdown): void {
  server.addHook('onSend', (request, reply, payload, done) => {
    const isComing = !request.raw.complete && hasBody(request);
    // A client that was too slow gets no extra time.
    if (isComing && reply.statusCode !== TOO_SLOW && !closing.begun) void linger(request, reply, closing);
    done(null, payload);
  });
}

/** Reports whether a request has a body (RFC 9112 section 6.3). */
function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

async function linger({ raw: request }: FastifyRequest, reply: FastifyReply, closing: GracefulShutdown): Promise<void> {
  const { raw: response } = reply;
  const { socket } = request;
  // Node.js closes the connection after a response if the request or the response contains `Connection: close`.
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
