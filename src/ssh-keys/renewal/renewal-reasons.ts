import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CredentialRights } from '../../auth/rights/credential-rights.js';
import { Problem } from '../../platform/errors/problem.js';
import { recordAlertEvents } from '../../platform/events/alert-events.js';
import { SshAuthoritiesReader } from '../certificate-authority/ssh-authorities.reader.js';
import type { SshAuthority } from '../certificate-authority/ssh-authority.entity.js';
import { SshCertificateApprovals } from '../certificate-authority/ssh-certificate-approvals.js';
import type { SshCertificate } from '../certificate-authority/ssh-certificate.entity.js';

const PAUSED =
  "The requester of this host's first certificate can no longer issue certificates. A user with ssh-ca:issue must issue a new certificate, and is then responsible for its renewals.";

/**
 * RenewalReasons verifies that a host may still renew its certificate: the current certificate is not revoked, and the requester of the first certificate may
 * still issue certificates.
 */
@Injectable()
export class RenewalReasons {
  constructor(
    private readonly db: DataSource,
    private readonly reader: SshAuthoritiesReader,
    private readonly rights: CredentialRights,
    private readonly approvals: SshCertificateApprovals,
  ) {}

  /**
   * Asserts that the certificate may be renewed. The next certificate copies the row, so the row must match its description in the log.
   *
   * @throws Problem `ssh-renewal.unknown`, `ssh-renewal.revoked`, or `ssh-renewal.paused`, which also raises an alert
   */
  async assertHold(authority: SshAuthority, certificate: SshCertificate): Promise<void> {
    if (!(await this.approvals.isLogged(authority, certificate)))
      throw new Problem(
        'forbidden',
        'ssh-renewal.unknown',
        'The certificate does not match its record in the audit log. Request a new certificate.',
      );
    if (await this.reader.isRevoked(authority, certificate))
      throw new Problem('forbidden', 'ssh-renewal.revoked', 'The certificate or its key was revoked.');
    if (await this.mayStillIssue(certificate)) return;
    await this.alert(authority, certificate);
    throw new Problem('forbidden', 'ssh-renewal.paused', PAUSED);
  }

  /**
   * Reports whether everyone behind the request, and the API key or client that made the request, may still issue certificates. A revoked API key has no
   * rights.
   */
  private async mayStillIssue({ request }: SshCertificate): Promise<boolean> {
    if (request === null) return false;
    const { requestedBy, renewal } = request;
    const { kind, id, ownerId, behind = [], credentials = [] } = requestedBy;
    const credential = renewal?.credential ?? (kind === 'api-key' || kind === 'oauth-client' ? id : undefined);
    const more = credential === undefined ? [] : [credential];
    return this.rights.allHold([ownerId, ...behind, ...credentials, ...more], ['ssh-ca:issue']);
  }

  private alert(authority: SshAuthority, { keyId, fingerprint, validBefore }: SshCertificate): Promise<void> {
    const subject = { kind: 'ssh-host', id: fingerprint, name: keyId };
    const facts = { why: PAUSED, authority: authority.name, until: validBefore.toISOString() };
    return this.db.transaction((tx) => recordAlertEvents(tx, [{ type: 'rotation.critical', subject, facts }]));
  }
}
