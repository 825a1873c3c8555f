import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsOptional,
  Matches,
  MaxLength,
  MinDate,
  ValidateBy,
} from 'class-validator';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { ListOf, Moment, Nested, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { VerifiedIdentityView } from '../../access/identity/identity.dto.js';
import { OneKeyLine } from '../../platform/http/field-rules.js';
import type { Page } from '../../platform/http/cursors.js';
import { parseNetwork } from '../../formats/encoding/ip-address.js';
import type { IssuedCertificate } from './ssh-authorities.reader.js';
import type { SshCertificateOrder } from './ssh-certificates.service.js';
import { CERTIFICATE_STATUSES, type RenewalTerms, type SshCertificate } from './ssh-certificate.entity.js';

const PRINTABLE = /^[\x20-\x7e]+$/;
const NAME = /^[A-Za-z0-9_*.@:-]{1,255}$/;
export const EXTENSIONS = [
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-pty',
  'permit-user-rc',
  'permit-X11-forwarding',
] as const;
type Extension = (typeof EXTENSIONS)[number];

const areNetworks = (text: unknown) =>
  typeof text === 'string' && text.split(',').every((network) => parseNetwork(network) !== undefined);

/** SshRenewalTermsBody describes how a host may renew its certificate without further approval. */
export class SshRenewalTermsBody {
  /** Latest expiration time of a renewed certificate. @example 2028-01-01T00:00:00Z */
  @Moment() @MinDate(new Date(0)) until: Date;
  /** Addresses from which a renewal is accepted. Defaults to any address. @example 192.0.2.7 */
  @IsOptional()
  @MaxLength(1000)
  @ValidateBy({
    name: 'networks',
    validator: { validate: areNetworks, defaultMessage: () => 'must be addresses or CIDRs separated by commas' },
  })
  sourceAddress?: string;

  toTerms(): RenewalTerms {
    return { until: this.until.toISOString(), sourceAddress: this.sourceAddress ?? null };
  }
}

export class IssueSshCertificateBody {
  /** Public key to certify. @example 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r' */
  @Text(0, 20_000) @OneKeyLine() publicKey: string;
  /** Key ID of the certificate, which sshd writes to its log. @example ann@example.org */
  @Text(0, 255) @Matches(PRINTABLE, { message: 'must be printable ASCII' }) keyId: string;
  /** Login names or host names for which the certificate is valid. */
  @ApiProperty({ type: [String], example: ['ann'], maxItems: 256 })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(256)
  @Matches(NAME, { each: true, message: 'must be valid names' })
  principals: string[];
  /** @example 2027-01-01T00:00:00Z */
  @Moment() @MinDate(new Date(0)) validAfter: Date;
  /** @example 2027-01-02T00:00:00Z */
  @Moment() @MinDate(new Date(0)) validBefore: Date;
  /** User certificates only: addresses from which the certificate is valid. @example 192.0.2.0/24 */
  @IsOptional()
  @Matches(/^[0-9a-fA-F.:/,]{2,1000}$/, { message: 'must be addresses or CIDRs separated by commas' })
  sourceAddress?: string;
  /** User certificates only: the command to which the certificate is restricted (force-command). @example /usr/bin/backup */
  @IsOptional() @MaxLength(1000) @Matches(PRINTABLE, { message: 'must be printable ASCII' }) forceCommand?: string;
  /** User certificates only: permissions that the certificate grants in addition to command execution. Defaults to `permit-pty` (terminal allocation). */
  @Optional(ListOf(OneOf(EXTENSIONS), { max: EXTENSIONS.length, example: ['permit-pty'] })) extensions?: Extension[];
  /**
   * Host certificates only: allows the host to renew the certificate itself, with the same names and lifetime. If omitted, renewal is not allowed.
   */
  @Optional(Nested(SshRenewalTermsBody)) renewal?: SshRenewalTermsBody;

  toOrder(): SshCertificateOrder {
    const { extensions = ['permit-pty'], renewal, ...order } = this;
    return { ...order, extensions, ...(renewal === undefined ? {} : { renewal: renewal.toTerms() }) };
  }
}

const SHOWN_STATUSES = ['ISSUED', ...CERTIFICATE_STATUSES] as const;
type ShownStatus = (typeof SHOWN_STATUSES)[number];

export class SshCertificateFailure {
  /** Problem code; see docs/errors.md. @example approval.rejected */
  code: string;
  /** @example 'Bob rejected it: not from here' */
  detail: string;
}

export class SshCertificateView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** Serial number in decimal. @example "17" */
  serial: string;
  /** @example ann@example.org */
  keyId: string;
  /** Fingerprint of the certified key. @example SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og */
  fingerprint: string;
  @ApiProperty({ type: [String], example: ['ann'] }) principals: string[];
  /** @example 2027-01-01T00:00:00Z */
  validAfter: Date;
  /** @example 2027-01-02T00:00:00Z */
  validBefore: Date;
  /**
   * Content of the `-cert.pub` file. Empty until the certificate is signed.
   * @example 'ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t ann'
   */
  certificate: string;
  /**
   * `ISSUED`: the certificate is signed. `READY`: the certificate is being signed. `PENDING_APPROVAL`: the certificate is waiting for approval. `FAILED`: the
   * certificate will not be signed.
   */
  @ApiProperty({ enum: SHOWN_STATUSES, example: 'ISSUED' }) status: ShownStatus;
  /** ID of the approval that a policy requires. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  approvalId?: string;
  /** Host certificates only: time until which the host can renew the certificate itself. @example 2028-01-01T00:00:00.000Z */
  renewableUntil?: string;
  /** ID of the certificate that was renewed by this certificate. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  renews?: string;
  /**
   * Name of the user, API key, client or run that requested the certificate. Not present for certificates issued by earlier versions.
   * @example ann@example.org
   */
  requestedBy?: string;
  /** Verified claims of the requester's workload token. */
  verified?: VerifiedIdentityView;
  /** Reason why the certificate will not be signed. */
  failure?: SshCertificateFailure;

  static of(row: SshCertificate): SshCertificateView {
    const { certificate, request, failureCode: code, failureDetail: detail } = row;
    return viewOf(SshCertificateView, present(row), {
      certificate: certificate ?? '',
      status: certificate === null ? row.status : 'ISSUED',
      renewableUntil: request?.renewal?.until,
      requestedBy: request?.requestedBy.name,
      verified: request?.identity && VerifiedIdentityView.of(request.identity),
      failure: code === null ? undefined : { code, detail: detail ?? '' },
    });
  }
}

export class IssuedSshCertificateView extends SshCertificateView {
  /** Whether the serial number, the key ID or the key of the certificate is revoked. @example false */
  revoked: boolean;
  /** @example 2027-01-01T00:00:00Z */
  createdAt: Date;

  static ofIssued({ certificate, revoked }: IssuedCertificate): IssuedSshCertificateView {
    return Object.assign(SshCertificateView.of(certificate), { revoked, createdAt: certificate.createdAt });
  }
}

export class SshCertificatePage {
  items: IssuedSshCertificateView[];
  /** Cursor of the next page; null on the last page. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(page: Page<IssuedCertificate>): SshCertificatePage {
    return { items: page.items.map((item) => IssuedSshCertificateView.ofIssued(item)), nextCursor: page.nextCursor };
  }
}

/** SshHostRenewalBody is a host's request for its next certificate, with proof of possession of the certified key. */
export class SshHostRenewalBody {
  /** Current certificate, as in the `-cert.pub` file. @example 'ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t host' */
  @Text(0, 20_000) @OneKeyLine() certificate: string;
  /** Time of the signature on the host. Must be within five minutes of the current time. @example 2027-01-01T00:00:00.000Z */
  @Moment() signedAt: Date;
  /** Output of `ssh-keygen -Y sign -n host-renewal@sealwright -f KEY` over `SHA256:… TIME`: the SHA-256 of the certificate, base64 without padding, and `signedAt` as YYYY-MM-DDTHH:MM:SS.sssZ. @example '-----BEGIN SSH SIGNATURE-----…' */
  @Text(0, 20_000) signature: string;
}
