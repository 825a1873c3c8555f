import { Injectable } from '@nestjs/common';
import { DataSource, Not } from 'typeorm';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { missing } from '../../platform/errors/problem.js';
import { keyFileLine } from '../../platform/ssh/authorized-keys-file.js';
import { publicKeyLine, sshPublicKeyOfSpki } from '../../formats/ssh/public-key.js';
import { SshCertificate } from './ssh-certificate.entity.js';
import type { CertificateKind } from './ssh-certificate.js';
import { RevocationRecords } from './revocation-records.js';
import { authoritiesBy, SshAuthority, SshRevocation } from './ssh-authority.entity.js';

export interface IssuedCertificate {
  readonly certificate: SshCertificate;
  readonly revoked: boolean;
}

@Injectable()
export class SshAuthoritiesReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly records: RevocationRecords,
  ) {}

  async get(id: string): Promise<SshAuthority> {
    const authority = await this.db.manager.findOneBy(SshAuthority, { id });
    if (authority !== null) return authority;
    throw missing('ssh-ca');
  }

  /** Returns authorities, newest first. */
  async list(page: PageQuery): Promise<Page<SshAuthority>> {
    return this.cursors.newest('ssh-authorities', this.db.createQueryBuilder(SshAuthority, 'authority'), page);
  }

  /** Returns the certificates of an authority, newest first. */
  async certificates(authorityId: string, page: PageQuery): Promise<Page<IssuedCertificate>> {
    const authority = await this.get(authorityId);
    const query = this.db
      .createQueryBuilder(SshCertificate, 'certificate')
      .where('certificate.authorityId = :authorityId', { authorityId });
    const { items, nextCursor } = await this.cursors.newest(`ssh-certificates ${authorityId}`, query, page);
    const revoked = await this.revokedOf(authority, items);
    return { items: items.map((certificate) => ({ certificate, revoked: revoked.has(certificate.id) })), nextCursor };
  }

  /** Returns the revocations of an authority, newest first. */
  async revocations(authorityId: string, page: PageQuery): Promise<Page<SshRevocation>> {
    await this.get(authorityId);
    const query = this.db
      .createQueryBuilder(SshRevocation, 'revocation')
      .where('revocation.authorityId = :authorityId', { authorityId });
    return this.cursors.newest(`ssh-revocations ${authorityId}`, query, page);
  }

  /** Reports whether a certificate of this authority is revoked, according to the entire signed log. Throws the problems of RightsLedger.latest. */
  async isRevoked(authority: SshAuthority, certificate: SshCertificate): Promise<boolean> {
    return (await this.revokedOf(authority, [certificate], true)).has(certificate.id);
  }

  private async revokedOf(
    authority: SshAuthority,
    certificates: readonly SshCertificate[],
    isComplete = false,
  ): Promise<Set<string>> {
    const siblings = await this.db.manager.find(SshAuthority, {
      select: { id: true },
      where: { kind: authority.kind },
    });
    return this.records.revokedOf(authority.id, new Set(siblings.map(({ id }) => id)), certificates, isComplete);
  }

  /** Returns the public keys of all authorities that are not retired, in the format of TrustedUserCAKeys (user) or known_hosts (host). */
  async trusted(kind: CertificateKind): Promise<string> {
    const found = await authoritiesBy(this.db.manager, { kind, state: Not('RETIRED') });
    const authorities = found.filter((one) => one.kind === kind && one.state !== 'RETIRED');
    const mark = kind === 'host' ? '@cert-authority *' : '';
    return authorities
      .map(({ name, publicKey }) => keyFileLine(mark, publicKeyLine(sshPublicKeyOfSpki(publicKey)), name))
      .join('');
  }
}
