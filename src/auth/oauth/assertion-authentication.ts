import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../platform/config/config.js';
import { originOf } from '../../platform/http/origin.js';
import { Clock } from '../../platform/work/clock.js';
import { UsedProofs } from '../credentials/possession/used-proofs.repository.js';
import { ClientAssertionRefused, subjectOf, verifyClientAssertion } from './client-assertion.js';
import { ClientKeys } from './client-keys.js';
import { type ActiveClient, OAuthClientsService } from './oauth-clients.service.js';
import { OAuthError, unknownClient } from './oauth-error.js';
import type { OAuthParameters } from './oauth-parameters.js';

/** AssertionAuthentication authenticates clients with a JWT that the client signed (`private_key_jwt`). */
@Injectable()
export class AssertionAuthentication {
  constructor(
    private readonly config: Config,
    private readonly clients: OAuthClientsService,
    private readonly keys: ClientKeys,
    private readonly used: UsedProofs,
    private readonly clock: Clock,
  ) {}

  /** @throws OAuthError `invalid_client` */
  async clientOf(assertion: string, request: FastifyRequest, parameters: OAuthParameters): Promise<ActiveClient> {
    const id = subjectOf(assertion);
    if (id === undefined || (parameters.get('client_id') ?? id) !== id) throw unknownClient();
    const client = await this.clients.findActive(id);
    if (client?.authMethod !== 'private_key_jwt') throw unknownClient();
    const { publicUrl } = this.config;
    const audiences = [publicUrl, `${publicUrl}/`, `${publicUrl}/oauth/token`];
    let { proofSince } = client;
    const keys = async (fresh: boolean) => {
      const current = await this.keys.of(id, originOf(request), fresh);
      ({ proofSince } = current);
      return current.keys;
    };
    try {
      const { jti, until } = await verifyClientAssertion(assertion, { clientId: id, audiences, keys, now: this.clock.now() }); // prettier-ignore
      if (await this.used.take({ kind: 'client-assertion', by: id, jti }, until)) return { ...client, proofSince };
    } catch (error) {
      throw error instanceof ClientAssertionRefused ? new OAuthError('invalid_client', error.message) : error;
    }
    throw new OAuthError(
      'invalid_client',
      'The client assertion has already been used. Create a new assertion for each request.',
    );
  }
}
