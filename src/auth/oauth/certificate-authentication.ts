import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { Clock } from '../../platform/work/clock.js';
import { CertificateRefused } from '../credentials/certificates/certificate-checks.js';
import { acceptedPath } from '../credentials/certificates/certificate-path.js';
import { ClientCertificates } from '../credentials/possession/client-certificate.js';
import type { ActiveClient } from './oauth-clients.service.js';
import { OAuthError, unknownClient } from './oauth-error.js';
import { OAuthClient } from '../model/oauth.entity.js';

/**
 * CertificateAuthentication authenticates clients with a TLS certificate (RFC 8705 section 2). The TLS handshake with the proxy proves that the client has the
 * certificate's private key. Everything else is checked here, on each request.
 */
@Injectable()
export class CertificateAuthentication {
  constructor(
    private readonly db: DataSource,
    private readonly shown: ClientCertificates,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the client and the expiry of its certificate.
   *
   * @throws OAuthError `invalid_client`
   */
  async assertedBy(request: FastifyRequest, client: ActiveClient): Promise<ActiveClient> {
    const shown = this.shown.shownBy(request);
    if (shown === undefined)
      throw new OAuthError(
        'invalid_client',
        'The client must authenticate with its TLS certificate, but the request contains no client certificate.',
      );
    const row = await findTrusted(this.db.manager, OAuthClient, { id: client.id });
    const rule = row?.certificateRule ?? null;
    if (rule === null) throw unknownClient();
    try {
      const now = this.clock.now();
      const path = acceptedPath(rule, shown, now);
      const ends = path.map(({ validTo }) => Date.parse(validTo));
      return { ...client, secondsLeft: Math.floor((Math.min(...ends) + 1000 - now.getTime()) / 1000) };
    } catch (error) {
      throw error instanceof CertificateRefused ? new OAuthError('invalid_client', error.message) : error;
    }
  }
}
