import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { timingSafeEqual } from 'node:crypto';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { Config } from '../../platform/config/config.js';
import { originOf } from '../../platform/http/origin.js';
import { Clock } from '../../platform/time/clock.js';
import { secretHashOf } from '../model/secret-text.js';
import { UsedProofs } from '../possession/used-proofs.repository.js';
import { CLIENT_ASSERTION_TYPE, ClientAssertionRefused, subjectOf, verifyClientAssertion } from './client-assertion.js';
import { ClientKeys } from './client-keys.js';
import { type ActiveClient, OAuthClientsService } from './oauth-clients.service.js';
import { OAuthError } from './oauth-error.js';
import type { OAuthParameters } from './oauth-parameters.js';

interface Shown {
  readonly id: string;
  readonly secret: string | undefined;
}

/** Client authentication by a secret, in HTTP Basic or in the body (RFC 6749 section 2.3.1), or by a JWT (RFC 7523 section 2.2); never two of them. */
@Injectable()
export class ClientAuthentication {
  constructor(
    private readonly config: Config,
    private readonly clients: OAuthClientsService,
    private readonly keys: ClientKeys,
    private readonly used: UsedProofs,
    private readonly clock: Clock,
  ) {}

  /** The authenticated client, or a public client without a secret. Undefined if the request names no client. */
  async clientOf(request: FastifyRequest, parameters: OAuthParameters): Promise<ActiveClient | undefined> {
    const { authorization } = request.headers;
    const assertion = assertionIn(authorization, parameters);
    if (assertion !== undefined) return this.byAssertion(assertion, request, parameters);
    const shown = shownBy(authorization, parameters);
    if (shown === undefined) return undefined;
    const client = await this.clients.findActive(shown.id);
    if (client === null || !isRight(client, shown.secret)) throw unknown();
    return client;
  }

  /** The same, but refuses a request that names no client. */
  async requireClient(request: FastifyRequest, parameters: OAuthParameters): Promise<ActiveClient> {
    const client = await this.clientOf(request, parameters);
    if (client === undefined) throw unknown();
    return client;
  }

  private async byAssertion(
    assertion: string,
    request: FastifyRequest,
    parameters: OAuthParameters,
  ): Promise<ActiveClient> {
    const id = subjectOf(assertion);
    if (id === undefined || (parameters.get('client_id') ?? id) !== id) throw unknown();
    const client = await this.clients.findActive(id);
    if (client?.authMethod !== 'private_key_jwt') throw unknown();
    const { publicUrl } = this.config;
    const audiences = [publicUrl, `${publicUrl}/oauth/token`];
    const keys = (fresh: boolean) => this.keys.of(id, originOf(request), fresh);
    try {
      const { jti, until } = await verifyClientAssertion(assertion, { clientId: id, audiences, keys, now: this.clock.now() }); // prettier-ignore
      if (await this.used.take({ kind: 'client-assertion', by: id, jti }, until)) return client;
    } catch (error) {
      throw error instanceof ClientAssertionRefused ? new OAuthError('invalid_client', error.message) : error;
    }
    throw new OAuthError('invalid_client', 'The client assertion was used already.');
  }
}

/** The assertion of a request that authenticates in this way and no other. */
function assertionIn(authorization: string | undefined, parameters: OAuthParameters): string | undefined {
  const assertion = parameters.get('client_assertion');
  const type = parameters.get('client_assertion_type');
  if (assertion === undefined && type === undefined) return undefined;
  if (type !== CLIENT_ASSERTION_TYPE)
    throw new OAuthError('invalid_request', `The client_assertion_type must be ${CLIENT_ASSERTION_TYPE}.`);
  if (authorization !== undefined || parameters.get('client_secret') !== undefined)
    throw new OAuthError('invalid_request', 'Authenticate in one way: Basic, body or assertion.');
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
    if (id === undefined && secret !== undefined) throw unknown();
    return id === undefined ? undefined : { id, secret };
  }
  const basic = basicOf(authorization);
  if (secret !== undefined) throw new OAuthError('invalid_request', 'Authenticate in one way: Basic or body.');
  if (id !== undefined && id !== basic.id) throw new OAuthError('invalid_request', 'Two different clients are named.');
  return basic;
}

function basicOf(authorization: string): Shown {
  const [, encoded] = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  const [id, secret, ...rest] =
    fromBase64(encoded ?? '', 'optional')
      ?.toString('utf8')
      .split(':') ?? [];
  if (id === undefined || id === '' || secret === undefined || rest.length > 0) throw unknown();
  return { id: decoded(id), secret: decoded(secret) };
}

/** Reverses the form encoding of both parts (RFC 6749 section 2.3.1). */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw unknown();
  }
}

/** The same answer for a client that is unknown or revoked, and for a wrong secret or another way than the client's. */
function unknown(): OAuthError {
  return new OAuthError('invalid_client', 'The client is not known, or its secret is wrong.');
}
