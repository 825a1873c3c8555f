import { Matches } from 'class-validator';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { ListOf, Moment, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { REVOCATION_REASONS, type RevocationReason } from '../../formats/openpgp/certificate.js';
import type { SigningStatus } from '../signing-request.entity.js';
import type { OpenPgpCertificate } from './openpgp-certificate.js';
import type { UserIdCertificationOrder, RevocationOrder } from './openpgp-certificates.service.js';
import type { RequestedStatement } from './openpgp-statements.repository.js';

const MAX_USER_IDS = 8;
const REASONS = Object.keys(REVOCATION_REASONS) as RevocationReason[];

export class CertifyUserIdsBody {
  /** User IDs to certify, by convention in the form `Name <email>`. @example ["Example Ltd releases <releases@example.org>"] */
  @ListOf(Text(3, 200), { min: 1, max: MAX_USER_IDS, unique: true })
  @Matches(/^[^\p{C}]+$/u, { each: true, message: 'must be a single line of text without control characters' })
  userIds: string[];
  /** Expiration time of the key, included in the certification of every user ID in the request. If omitted, the key does not expire. @example 2031-01-01T00:00:00Z */
  @Optional(Moment()) expiresAt?: Date;

  toOrder(): UserIdCertificationOrder {
    const { userIds, expiresAt } = this;
    // OpenPGP times have a resolution of one second.
    const whole = expiresAt === undefined ? null : new Date(Math.floor(expiresAt.getTime() / 1000) * 1000);
    return { userIds, expiresAt: whole };
  }
}

export class RevokeOpenPgpBody {
  /** `compromised` invalidates all signatures made with the key. The other reasons invalidate only signatures made after the revocation. */
  @OneOf(REASONS) reason: RevocationReason;
  /** Explanation of the revocation, which is included in the public certificate. @example 'The key was replaced by the 2031 key.' */
  @Optional(Text(0, 200)) text?: string;

  toOrder(): RevocationOrder {
    return { reason: this.reason, text: this.text ?? '' };
  }
}

export class OpenPgpStatementView {
  /** Certified user ID; absent for a revocation. @example 'Example Ltd releases <releases@example.org>' */
  userId?: string;
  /** Status of the signing request. */
  status: SigningStatus;
  /** ID of the signing request; see /api/v1/sign/requests. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  requestId?: string;
  /** ID of the approval that the signing request requires. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  approvalId?: string;

  static of(row: RequestedStatement): OpenPgpStatementView {
    const { status } = row;
    return viewOf(OpenPgpStatementView, present(row), { status: status ?? 'FAILED' });
  }
}

export class OpenPgpCertificateView {
  /** ID of the signing key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example release-2027 */
  name: string;
  /** @example ec-p256 */
  type: string;
  /** Key version of the certificate. @example 1 */
  version: number;
  /** Fingerprint, computed from the public key and its creation time. @example 8F3C2A1D5E6B7098A1B2C3D4E5F60718293A4B5C */
  fingerprint: string;
  createdAt: Date;
  expiresAt?: Date;
  userIds: OpenPgpStatementView[];
  revocation?: OpenPgpStatementView;
  /** Armored certificate; absent until a user ID is certified. @example "-----BEGIN PGP PUBLIC KEY BLOCK-----" */
  certificate?: string;

  static of(one: OpenPgpCertificate): OpenPgpCertificateView {
    const { key, fingerprint, expiresAt, users, revocation, armored } = one;
    return {
      id: key.keyId,
      name: key.name,
      type: key.type,
      version: key.version,
      fingerprint,
      createdAt: new Date(Math.floor(key.madeAt.getTime() / 1000) * 1000),
      expiresAt: expiresAt ?? undefined,
      userIds: users.map((user) => OpenPgpStatementView.of(user)),
      revocation: revocation === undefined ? undefined : OpenPgpStatementView.of(revocation),
      certificate: armored,
    };
  }
}

export class OpenPgpCertificatePage extends PageOf(OpenPgpCertificateView) {}
