import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { timingSafeEqual } from 'node:crypto';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { secretHashOf } from '../model/secret-text.js';
import { AssertionAuthentication } from './assertion-authentication.js';
import { CertificateAuthentication } from './certificate-authentication.js';
import { CLIENT_ASSERTION_TYPE } from './client-assertion.js';
import { isCertificateMethod } from '../model/oauth.entity.js';
import { type ActiveClient, OAuthClientsService } from './oauth-clients.service.js';
import { OAuthError, unknownClient } from './oauth-error.js';
import type { OAuthParameters } from './oauth-parameters.js';

interface Shown {
  readonly id: string;
  readonly secret: string | undefined;
}

/**
 * ClientAuthentication authenticates clients with a secret in HTTP Basic or in the body (RFC 6749 section 2.3.1), a JWT (RFC 7523 section 2.2), or a TLS
 * certificate (RFC 8705 section 2). ClientAuthentication rejects requests that use two methods, or a method other than the client's registered method.
 */
@Injectable()
export class ClientAuthentication {
  constructor(
    private readonly clients: OAuthClientsService,
    private readonly assertions: AssertionAuthentication,
    private readonly certificates: CertificateAuthentication,
  ) {}

  /** Returns the authenticated client, or the public client that the request names. Returns undefined if the request does not name a client. */
  async clientOf(request: FastifyRequest, parameters: OAuthParameters): Promise<ActiveClient | undefined> {
    const { authorization } = request.headers;
    const assertion = assertionIn(authorization, parameters);
    if (assertion !== undefined) return this.assertions.clientOf(assertion, request, parameters);
    const shown = shownBy(authorization, parameters);
    if (shown === undefined) return undefined;
    const client = await this.clients.findActive(shown.id);
    if (client !== null && shown.secret === undefined && isCertificateMethod(client.authMethod))
      return this.certificates.assertedBy(request, client);
    if (client === null || !isRight(client, shown.secret)) throw unknownClient();
    return client;
  }

  /** Like `clientOf`, but rejects a request that does not name a client. */
  async requireClient(request: FastifyRequest, parameters: OAuthParameters): Promise<ActiveClient> {
    const client = await this.clientOf(request, parameters);
    if (client === undefined) throw unknownClient();
    return client;
  }
}

/** Returns the client assertion of a request, if any. Rejects a request that also uses another authentication method. */
function assertionIn(authorization: string | undefined, parameters: OAuthParameters): string | undefined {
  const assertion = parameters.get('client_assertion');
  const type = parameters.get('client_assertion_type');
  if (assertion === undefined && type === undefined) return undefined;
  if (type !== CLIENT_ASSERTION_TYPE)
    throw new OAuthError('invalid_request', `The client_assertion_type must be ${CLIENT_ASSERTION_TYPE}.`);
  if (authorization !== undefined || parameters.get('client_secret') !== undefined)
    throw new OAuthError(
      'invalid_request',
      'Use exactly one client authentication method: HTTP Basic, request body or client assertion.',
    );
  return assertion ?? parameters.require('client_assertion');
}

function isRight({ secretHash, authMethod }: ActiveClient, secret: string | undefined): boolean {
  if (authMethod !== null) return false;
  if (secretHash === null) return secret === undefined;
  return secret !== undefined && timingSafeEqual(secretHash, secretHashOf(secret));
}

function shownBy(authorization: string | undefined, parameters: OAuthParameters): Shown | undefined {
  const id = parameters.get('client_id');
  const secret = parameters.get('client_secret');
  if (authorization === undefined) {
    if (id === undefined && secret !== undefined) throw unknownClient();
    return id === undefined ? undefined : { id, secret };
  }
  const basic = basicOf(authorization);
  if (secret !== undefined)
    throw new OAuthError(
      'invalid_request',
      'Use exactly one client authentication method: HTTP Basic or request body.',
    );
  if (id !== undefined && id !== basic.id)
    throw new OAuthError(
      'invalid_request',
      'The client_id in the body differs from the client in the Authorization header.',
    );
  return basic;
}

function basicOf(authorization: string): Shown {
  const [, encoded] = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  const [id, secret, ...rest] =
    fromBase64(encoded ?? '', 'optional')
      ?.toString('utf8')
      .split(':') ?? [];
  if (id === undefined || id === '' || secret === undefined || rest.length > 0) throw unknownClient();
  return { id: decoded(id), secret: decoded(secret) };
}

/** Decodes a form-encoded client ID or secret (RFC 6749 section 2.3.1). */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw unknownClient();
  }
}
