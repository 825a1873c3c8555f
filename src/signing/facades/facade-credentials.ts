import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';

const VAULT = '/v1/transit/';
const SIGN_SERVER = '/rest/v1/workers/';
const BASIC = /^Basic ([A-Za-z0-9+/]+=*)$/i;

/**
 * Credentials as the clients of other services send them: `X-Vault-Token`, and HTTP Basic for SignServer (RFC 7617). Both carry an API
 * key or an access token; the user name does not matter. Vault's own client, which cosign has inside, names no media type for its JSON.
 */
@Injectable()
export class FacadeCredentials implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    // A worker has no HTTP.
    const server = this.host.httpAdapter?.getInstance<FastifyInstance>();
    server?.addHook('onRequest', (request, _reply, done) => {
      const route = request.routeOptions.url ?? '';
      const { authorization, 'x-vault-token': token } = request.headers;
      if (route.startsWith(VAULT)) {
        request.raw.headers['content-type'] ??= 'application/json';
        if (typeof token === 'string') request.raw.headers.authorization = `Bearer ${token}`;
      }
      if (route.startsWith(SIGN_SERVER)) request.raw.headers.authorization = asBearer(authorization);
      done();
    });
  }
}

function asBearer(header: string | undefined): string | undefined {
  const [, credentials] = BASIC.exec(header ?? '') ?? [];
  if (credentials === undefined) return header;
  const [, password = ''] = /^[^:]*:([\x21-\x7e]+)$/.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
  return `Bearer ${password}`;
}
