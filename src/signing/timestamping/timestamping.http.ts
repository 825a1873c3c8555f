import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';

export const TIMESTAMP_QUERY = 'application/timestamp-query';
export const TIMESTAMP_REPLY = 'application/timestamp-reply';

/** A query of a few hundred bytes is already unusual. */
const MOST_QUERY_BYTES = 16 * 1024;
const PATH = '/tsa';
const BASIC = /^Basic ([A-Za-z0-9+/]+=*)$/i;

/**
 * What timestamp clients need of HTTP: their media type, and HTTP Basic (RFC 7617), the only credential that they know. The
 * password is the API key, whatever the user is called.
 */
@Injectable()
export class TimestampingHttp implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    // A worker has no HTTP.
    const server = this.host.httpAdapter?.getInstance<FastifyInstance>();
    if (server === undefined) return;
    server.addContentTypeParser(
      TIMESTAMP_QUERY,
      { parseAs: 'buffer', bodyLimit: MOST_QUERY_BYTES },
      (_request, body, done) => done(null, body),
    );
    server.addHook('onRequest', (request, _reply, done) => {
      if (request.routeOptions.url === PATH)
        request.raw.headers.authorization = asBearer(request.headers.authorization);
      done();
    });
    server.addHook('onSend', (request, reply, payload, done) => {
      if (request.routeOptions.url === PATH && reply.statusCode === 401)
        void reply.header(
          'www-authenticate',
          `${String(reply.getHeader('www-authenticate'))}, Basic realm="sealwright"`,
        );
      done(null, payload);
    });
  }
}

function asBearer(header: string | undefined): string | undefined {
  const [, credentials] = BASIC.exec(header ?? '') ?? [];
  if (credentials === undefined) return header;
  const [, password = ''] = /^[^:]*:([\x21-\x7e]+)$/.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
  return `Bearer ${password}`;
}
