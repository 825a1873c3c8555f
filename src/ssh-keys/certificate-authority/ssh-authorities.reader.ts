import { Injectable } from '@nestjs/common';
import { DataSource, Not } from 'typeorm';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/http/problem.js';
import { publicKeyLine, sshPublicKeyOfSpki } from '../../platform/ssh/public-key.js';
import { SshAuthority } from './ssh-authority.entity.js';
import type { CertificateKind } from './ssh-certificate.js';

@Injectable()
export class SshAuthoritiesReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  async get(id: string): Promise<SshAuthority> {
    const authority = await this.db.manager.findOneBy(SshAuthority, { id });
    if (authority !== null) return authority;
    throw new Problem('missing', 'ssh-ca.missing', 'There is no SSH authority with this id.');
  }

  /** Newest first. */
  async list(page: PageQuery): Promise<Page<SshAuthority>> {
    return this.cursors.newest('ssh-authorities', this.db.createQueryBuilder(SshAuthority, 'authority'), page);
  }

  /** Every key that hosts or users are to trust: a file for TrustedUserCAKeys, or lines for known_hosts. */
  async trusted(kind: CertificateKind): Promise<string> {
    const authorities = await this.db.manager.find(SshAuthority, {
      where: { kind, state: Not('RETIRED') },
      order: { id: 'ASC' },
      take: 100,
    });
    const mark = kind === 'host' ? '@cert-authority * ' : '';
    return authorities
      .map(({ name, publicKey }) => `${mark}${publicKeyLine(sshPublicKeyOfSpki(publicKey))} ${name}\n`)
      .join('');
  }
}
