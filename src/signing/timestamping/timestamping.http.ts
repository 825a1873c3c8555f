import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AddressList } from '../../auth/api-keys/address-list.js';
import { bearerOfBasic } from '../../auth/secrets/basic-credentials.js';
import { admitAsGuest } from '../../access/guest-callers.js';
import { Config } from '../../platform/config/config.js';
import { mediaTypeOf } from '../../platform/http/bodies/raw-body.js';

export const TIMESTAMP_QUERY = 'application/timestamp-query';
export const TIMESTAMP_REPLY = 'application/timestamp-reply';
/** A query of a few hundred bytes is already unusual. */
export const MAX_QUERY_BYTES = 16 * 1024;

const PATH = '/tsa';
const PATH_WITH_KEY = '/tsa/:key';
/** What some clients say of a query, or do not say. */
const UNSPECIFIC = new Set(['', 'application/octet-stream']);

/** The credential in an address: an API key. */
export function isKeyInPath(text: string): boolean {
  return text.startsWith('sw_');
}

/**
 * What timestamp clients need of HTTP. The credential is the password of HTTP Basic (RFC 7617), whatever the user is called; or it stands in
 * the path; or there is none, for the addresses in SVC_TSA_ALLOW.
 */
@Injectable()
export class TimestampingHttp implements OnModuleInit {
  private readonly logger = new Logger(TimestampingHttp.name);
  private readonly open: AddressList;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly config: Config,
  ) {
    this.open = new AddressList(config.tsaAllow);
  }

  onModuleInit(): void {
    // A worker has no HTTP.
    const server = this.host.httpAdapter?.getInstance<FastifyInstance>();
    if (server === undefined) return;
    const { tsaAllow } = this.config;
    if (tsaAllow.length > 0)
      this.logger.warn(`timestamps need no credential from ${tsaAllow.join(', ')} (SVC_TSA_ALLOW)`);
    server.addHook('onRequest', (request, _reply, done) => {
      const route = request.routeOptions.url;
      if (route === PATH || route === PATH_WITH_KEY) this.readHeaders(request, route);
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

  private readHeaders(request: FastifyRequest, route: string): void {
    const { headers } = request.raw;
    if (request.method === 'POST' && UNSPECIFIC.has(mediaTypeOf(request))) headers['content-type'] = TIMESTAMP_QUERY;
    const { key = '' } = request.params as { key?: string };
    if (route === PATH_WITH_KEY && isKeyInPath(key)) headers.authorization = `Bearer ${key}`;
    else headers.authorization = bearerOfBasic(headers.authorization);
    if (route === PATH && this.open.includes(request.ip)) admitAsGuest(request, ['timestamps:issue']);
  }
}
