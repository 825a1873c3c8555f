import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsOptional, Matches, MaxLength } from 'class-validator';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { IdRef, ListOf, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { trimEndOf } from '../../platform/text/trim-end.js';
import { REVOCATION_KINDS, type RevocationKind, type SshRevocation } from './ssh-authority.entity.js';
import type { Pushed } from './revocation-push.service.js';

export class SshRevocationView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  @ApiProperty({ enum: REVOCATION_KINDS, example: 'serial' }) kind: RevocationKind;
  /** Serial number in decimal, key ID, or public key. @example "17" */
  value: string;
  /** @example left the team */
  reason?: string;
  /** @example 2027-01-01T00:00:00Z */
  createdAt: Date;

  static of(row: SshRevocation): SshRevocationView {
    return viewOf(SshRevocationView, present(row));
  }
}

export class SshRevocationPage extends PageOf(SshRevocationView) {}

export class RevokeSshCertificateBody {
  /** Type of `value`: the serial number or key ID of a certificate, or a public key, which is revoked together with all of the key's certificates. */
  @OneOf(REVOCATION_KINDS, { example: 'serial' }) kind: RevocationKind;
  /** Serial number in decimal, key ID, or public key. @example "17" */
  @Text(0, 20_000)
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? withoutLineEnd(value) : value))
  @Matches(/^[\x20-\x7e]+$/, { message: 'must be printable ASCII' })
  value: string;
  /** @example left the team */
  @Optional(Text(0, 500)) reason?: string;
}

export class PushRevocationsBody {
  /** IDs of the managed hosts. */
  @ListOf(IdRef(), { min: 1, max: 200, example: ['01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'] }) hostIds: string[];
  /**
   * Expected RevokedKeys file in sshd_config. A host whose sshd uses another file is not changed. Defaults to the file that the host's sshd uses.
   * @example /etc/ssh/revoked_keys
   */
  @IsOptional()
  @MaxLength(500)
  @Matches(/^\/[\x20-\x7e]*[^/]$/, { message: 'must be an absolute file path' })
  path?: string;
}

export class PushedView implements Pushed {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId: string;
  /** RevokedKeys file of the host's sshd. Not present if sshd was not queried. @example /etc/ssh/revoked_keys */
  path?: string;
  /** @example true */
  done: boolean;
  /** SHA-256 of the list now on the host, in hexadecimal. @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 */
  sha256?: string;
  /** Problem code of the failure; see docs/errors.md. @example host.unreachable */
  code?: string;
}

export class PushedList {
  items: PushedView[];
}

/** Removes the line ending at the end of a .pub file, which is not part of the key. */
function withoutLineEnd(text: string): string {
  return trimEndOf(trimEndOf(text, '\n'), '\r');
}
