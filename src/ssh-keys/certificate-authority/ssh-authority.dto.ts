import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { OneOf, Optional } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { sshFingerprintOf, publicKeyLine, sshPublicKeyOfSpki } from '../../formats/ssh/public-key.js';
import type { AuthorityOrder } from './ssh-authorities.service.js';
import {
  AUTHORITY_KEY_TYPES,
  type AuthorityKeyType,
  CERTIFICATE_KINDS,
  type CertificateKind,
} from './ssh-certificate.js';
import { AUTHORITY_STATES, type AuthorityState, type SshAuthority } from './ssh-authority.entity.js';

export class CreateSshAuthorityBody {
  /** @example people-2027 */
  @Matches(/^[a-z0-9][a-z0-9._-]{0,62}$/, {
    message: 'must be 1 to 63 characters from a-z, 0-9, ".", "_" and "-", and start with a letter or digit',
  })
  name: string;
  /** Whether the authority certifies user keys or host keys. */
  @OneOf(CERTIFICATE_KINDS, { example: 'user' }) kind: CertificateKind;
  /** Type of the authority's key. */
  @Optional(OneOf(AUTHORITY_KEY_TYPES, { default: 'ec-p256' })) type?: AuthorityKeyType = 'ec-p256';

  toOrder(): AuthorityOrder {
    return { name: this.name, kind: this.kind, type: this.type ?? 'ec-p256' };
  }
}

export class SshAuthorityView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example people-2027 */
  name: string;
  @ApiProperty({ enum: CERTIFICATE_KINDS, example: 'user' }) kind: CertificateKind;
  @ApiProperty({ enum: AUTHORITY_STATES, example: 'ACTIVE' }) state: AuthorityState;
  /** @example 'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg=' */
  publicKey: string;
  /** @example SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og */
  fingerprint: string;
  /** @example 2026-11-20T14:00:00Z */
  createdAt: Date;

  static of(row: SshAuthority): SshAuthorityView {
    const { publicKey } = row;
    const key = sshPublicKeyOfSpki(publicKey);
    return viewOf(SshAuthorityView, row, { publicKey: publicKeyLine(key), fingerprint: sshFingerprintOf(key.blob) });
  }
}

export class SshAuthorityPage extends PageOf(SshAuthorityView) {}

export class RetireSshAuthorityBody {
  /** `RETIRING`: the authority no longer issues certificates but is still trusted. `RETIRED`: hosts can stop trusting the authority. */
  @OneOf(['RETIRING', 'RETIRED'], { example: 'RETIRING' }) state: 'RETIRING' | 'RETIRED';
}
