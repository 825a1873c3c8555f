import { Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { secretHashOf } from '../model/secret-text.js';
import { type ActiveClient, OAuthClientsService } from './oauth-clients.service.js';
import { OAuthError } from './oauth-error.js';
import type { OAuthParameters } from './oauth-parameters.js';

interface Shown {
  readonly id: string;
  readonly secret: string | undefined;
}

/** Client authentication by HTTP Basic or in the body, never both (RFC 6749 section 2.3.1). */
@Injectable()
export class ClientAuthentication {
  constructor(private readonly clients: OAuthClientsService) {}

  /** The authenticated client, or a public client without a secret. Undefined if the request names no client. */
  async clientOf(authorization: string | undefined, parameters: OAuthParameters): Promise<ActiveClient | undefined> {
    const shown = shownBy(authorization, parameters);
    if (shown === undefined) return undefined;
    const client = await this.clients.findActive(shown.id);
    if (client === null || !isRight(client, shown.secret)) throw unknown();
    return client;
  }

  /** The same, but refuses a request that names no client. */
  async requireClient(authorization: string | undefined, parameters: OAuthParameters): Promise<ActiveClient> {
    const client = await this.clientOf(authorization, parameters);
    if (client === undefined) throw unknown();
    return client;
  }
}

function isRight({ secretHash }: ActiveClient, secret: string | undefined): boolean {
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

/** The same answer for a client that is unknown or revoked and for a wrong secret. */
function unknown(): OAuthError {
  return new OAuthError('invalid_client', 'The client is not known, or its secret is wrong.');
}
