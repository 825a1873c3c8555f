import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { errorShapeOf, answerOfHttp, type HttpRefusal, isHttpRefusal, problemText } from './problem.filter.js';
import { answerList, listRequestIn } from './list-method.js';

const TYPE = 'application/problem+json; charset=utf-8';
/** HTTP statuses for errors of Node's HTTP parser. All other errors result in 400. */
const STATUS_OF_PARSER: Record<string, HttpRefusal> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** refuseAddress responds to a URL that the router cannot parse. No handler, hook or filter receives these requests. */
export function refuseAddress(
  error: Error & { statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const answer = answerOfHttp(isHttpRefusal(error.statusCode) ? error.statusCode : 400);
  const foreign = errorShapeOf(request)?.(answer, request);
  if (foreign !== undefined) {
    void reply.status(foreign.status).header('x-request-id', request.id).header('content-type', 'application/json');
    void reply.send(JSON.stringify(foreign.body));
    return;
  }
  void reply
    .status(answer.status)
    .header('x-request-id', request.id)
    .header('content-type', TYPE)
    .send(problemText(answer, request.id));
}

/**
 * refuseConnection responds to data that is not valid HTTP and closes the connection. The request itself is not available, only its socket. Requests with
 * Vault's method LIST are served.
 */
export function refuseConnection(
  this: FastifyInstance,
  error: Error & { code?: string; rawPacket?: unknown },
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const list = error.code === 'HPE_INVALID_METHOD' ? listRequestOf(error.rawPacket) : undefined;
  if (list !== undefined) {
    answerList(this, socket, list).catch(() => socket.destroy());
    return;
  }
  const answer = answerOfHttp(STATUS_OF_PARSER[error.code ?? ''] ?? 400);
  const id = randomUUID();
  const body = problemText(answer, id);
  const lines = [
    `HTTP/1.1 ${answer.status} ${answer.title}`,
    `X-Request-Id: ${id}`,
    `Content-Type: ${TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

function listRequestOf(packet: unknown): ReturnType<typeof listRequestIn> {
  return Buffer.isBuffer(packet) ? listRequestIn(packet) : undefined;
}
