import { Injectable, type OnModuleInit, UnsupportedMediaTypeException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { bearerOfBasic } from '../../auth/credentials/callers/credentials.js';
import { ArrivingBodies } from '../../platform/http/bodies/arriving-bodies.js';
import { useErrorShape } from '../../platform/http/server/problem.filter.js';
import { parseJsonBody, mostValuesOf } from '../../platform/http/bodies/json-body.js';
import { mediaTypeOf } from '../../platform/http/bodies/raw-body.js';
import { otherMountErrors, signServerErrors, vaultErrors } from './vault-errors.js';

const VAULT = ['/v1/transit/', '/v1/sys/', '/v1/auth/'];
const SIGN_SERVER = '/rest/v1/workers/';
const FORM = 'application/x-www-form-urlencoded';
/** Internal Content-Type that replaces the Content-Type of every request from a Vault client. */
const VAULT_BODY = 'application/vnd.sealwright.vault';
/** Matches the start of a form: a name and an equals sign. JSON never starts like this, with or without a byte order mark. */
const LOOKS_LIKE_FORM = /^[\w.~%+*-]+=/;

/**
 * FacadeCredentials adapts HTTP requests from clients of other services.
 *
 * Credentials are sent in `X-Vault-Token`, or in HTTP Basic (RFC 7617) for SignServer. Both contain an API key or an access token; the user name is ignored.
 * For Vault, a body is parsed as JSON regardless of the Content-Type, because curl sends the form type by default. A body with the form type is parsed as a
 * form only if it starts like a form. Errors use the formats that these clients expect.
 */
@Injectable()
export class FacadeCredentials implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly bodies: ArrivingBodies,
  ) {}

  onModuleInit(): void {
    for (const prefix of VAULT) useErrorShape(prefix, vaultErrors);
    useErrorShape('/v1/', otherMountErrors);
    useErrorShape(SIGN_SERVER, signServerErrors);
    // Workers do not serve HTTP.
    const server = this.host.httpAdapter?.getInstance<FastifyInstance>();
    if (server === undefined) return;
    const forms = new WeakSet<FastifyRequest>();
    server.addHook('onRequest', (request, _reply, done) => {
      const route = request.routeOptions.url ?? '';
      const { headers } = request.raw;
      if (isVault(request)) {
        if (mediaTypeOf(request) === FORM) forms.add(request);
        headers['content-type'] = VAULT_BODY;
        const token = headers['x-vault-token'];
        if (typeof token === 'string') headers.authorization = `Bearer ${token.trim()}`;
      }
      if (route.startsWith(SIGN_SERVER)) headers.authorization = bearerOfBasic(headers.authorization);
      done();
    });
    server.addContentTypeParser(VAULT_BODY, async (request: FastifyRequest, body: IncomingMessage) => {
      if (!isVault(request)) throw new UnsupportedMediaTypeException();
      const bytes = await this.bodies.read(request, body);
      const isForm = forms.has(request) && LOOKS_LIKE_FORM.test(bytes.toString('latin1', 0, 64));
      return isForm ? formOf(bytes) : parseJsonBody(bytes, mostValuesOf(request));
    });
  }
}

function isVault({ routeOptions }: FastifyRequest): boolean {
  return VAULT.some((prefix) => routeOptions.url?.startsWith(prefix));
}

/** Parses a form as Vault does: the values of a repeated name are joined with commas. */
function formOf(bytes: Buffer): object {
  const form = new URLSearchParams(bytes.toString('utf8'));
  const names = [...new Set(form.keys())];
  return Object.fromEntries(names.map((name) => [name, form.getAll(name).join(',').replaceAll('\0', '')]));
}
