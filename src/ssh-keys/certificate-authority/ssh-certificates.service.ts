import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { type Caller, orderedBy } from '../../access/caller.js';
import { loggedIdentity } from '../../access/identity/verified-identity.js';
import { peopleBehind } from '../../auth/rights/secret-disclosures.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { namesHost } from '../../formats/ssh/host-pattern.js';
import { sshFingerprintOf, publicKeyFault, publicKeyLine, readPublicKeyLine } from '../../formats/ssh/public-key.js';
import { entry, inactive, authorityRefusalOf } from './ssh-authorities.service.js';
import { findAuthority, type SshAuthority } from './ssh-authority.entity.js';
import { contentEntry, renewalEntries, SshCertificateApprovals } from './ssh-certificate-approvals.js';
import { SshCertificateSigner } from './ssh-certificate-signer.js';
import { type CertificateRequest, type RenewalTerms, SshCertificate } from './ssh-certificate.entity.js';
import { certificateTypeOf, type CertificateContent } from './ssh-certificate.js';

export interface SshCertificateOrder extends Omit<CertificateContent, 'kind' | 'key' | 'serial'> {
  /** Public key to certify: `TYPE BASE64 [COMMENT]`. */
  readonly publicKey: string;
  /** Host certificates only: terms under which the host may renew the certificate itself. Undefined if renewal is not allowed. */
  readonly renewal?: RenewalTerms;
  /** Login rule that defines the content. */
  readonly rule?: CertificateRequest['rule'];
  /** ID of the certificate that the new certificate replaces. */
  readonly renews?: string;
}

/** SshCertificatesService issues SSH certificates: it records the request, requests approval if a policy requires approval, and has the certificate signed. */
@Injectable()
export class SshCertificatesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly approvals: SshCertificateApprovals,
    private readonly signer: SshCertificateSigner,
  ) {}

  /**
   * Issues a certificate, or requests the required approval (status PENDING_APPROVAL). The serial number is assigned and the content stored before the HSM is
   * called. A repeated call returns the same certificate, and signs the certificate if it is still unsigned.
   */
  async issue(
    caller: Caller,
    authorityId: string,
    order: SshCertificateOrder,
    use?: IdempotentUse,
  ): Promise<SshCertificate> {
    const key = readPublicKeyLine(order.publicKey);
    if (key === undefined || certificateTypeOf(key.type) === undefined) throw uncertifiable(order.publicKey);
    const { keyId, principals, validAfter, validBefore } = order;
    if (validAfter >= validBefore) {
      const errors = [{ pointer: '/validBefore', detail: 'must be later than validAfter' }];
      throw new Problem('malformed', 'ssh-ca.dates', '/validBefore: must be later than validAfter.', { errors });
    }
    const authority = await findAuthority(this.db.manager, authorityId);
    if (authority === null) throw await authorityRefusalOf(this.db.manager, authorityId);
    assertPrincipals(authority, principals);
    if (order.renewal !== undefined) assertTerms(authority, order.renewal, validBefore);
    const request = await this.requestOf(caller, { ...order, publicKey: publicKeyLine(key) });
    const content = {
      keyId,
      fingerprint: sshFingerprintOf(key.blob),
      principals: [...principals],
      validAfter,
      validBefore,
      renews: order.renews ?? null,
    };
    const judged = await this.approvals.judge(authority, content, request);
    const written = await this.db.transaction(async (tx) => {
      const id = use?.resource ?? newId();
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      await this.approvals.assertCurrent(tx, judged);
      if (order.renews !== undefined) await this.approvals.assertNotRenewed(tx, order.renews);
      const serial = await takeSerial(tx, authorityId);
      const status = judged.demand === undefined ? ('READY' as const) : ('PENDING_APPROVAL' as const);
      const row = { id, authorityId: authority.id, serial, ...content, status };
      // Approvers see, and the log records, the requested content. The row is not read back, because a trigger could have changed it.
      const certificate = Object.assign(new SshCertificate(), row, { request, approvalId: null as string | null });
      // TypeORM's insert type does not allow claims with arbitrary names.
      await tx.insert(SshCertificate, { ...row, request: request as never });
      if (judged.demand !== undefined) {
        const approvalId = await this.approvals.ask(tx, caller, { authority, certificate, demand: judged.demand });
        await tx.update(SshCertificate, { id }, { approvalId });
        certificate.approvalId = approvalId;
      }
      await this.audit.appendAllBy(tx, caller, [
        certificateEntry(certificate),
        contentEntry(authority, certificate),
        ...renewalEntries(certificate),
      ]);
      return id;
    });
    return this.signer.sign(written);
  }

  /**
   * Returns the request to store. A host renews its certificate without the original requester, so the request for a renewable certificate also identifies
   * everyone behind the requester.
   */
  private async requestOf(caller: Caller, order: SshCertificateOrder): Promise<CertificateRequest> {
    const { kind, id, name, ownerId, behind = [], origin } = caller;
    const once = { kind, id, name, ...(behind.length === 0 ? {} : { behind: [...behind] }) };
    const isRenewed = order.renewal !== undefined;
    const by = isRenewed ? orderedBy(caller, await peopleBehind(this.db.manager, caller)) : once;
    return {
      publicKey: order.publicKey,
      sourceAddress: order.sourceAddress ?? null,
      forceCommand: order.forceCommand ?? null,
      extensions: [...order.extensions].sort(),
      requestedBy: { ...by, ownerId },
      correlation: origin.requestId,
      ...(caller.identity === undefined ? {} : { identity: caller.identity }),
      ...(order.rule === undefined ? {} : { rule: order.rule }),
      ...(order.renewal === undefined ? {} : { renewal: { ...credentialOf(caller), ...order.renewal } }),
    };
  }

  /** @throws Problem `ssh-ca.no-certificate` */
  async get(authorityId: string, id: string): Promise<SshCertificate> {
    const certificate = await this.db.manager.findOneBy(SshCertificate, { id, authorityId });
    if (certificate !== null) return certificate;
    const detail = 'This authority has not issued a certificate with this ID.';
    throw new Problem('missing', 'ssh-ca.no-certificate', detail);
  }
}

/** Returns the audit entry of a certificate. A certificate that is pending approval is logged as requested, any other certificate as issued. */
export function certificateEntry(certificate: SshCertificate) {
  const { id, authorityId, serial, keyId, fingerprint, principals, validAfter, validBefore, approvalId } = certificate;
  const { renews, request } = certificate;
  const action = certificate.status === 'READY' ? 'ssh-ca.certified' : 'ssh-ca.certificate-requested';
  return entry(action, authorityId, {
    certificateId: id,
    serial,
    keyId,
    fingerprint,
    principals: [...principals],
    validAfter: validAfter.toISOString(),
    validBefore: validBefore.toISOString(),
    ...(approvalId === null ? {} : { approval: approvalId }),
    ...(renews === null ? {} : { renews }),
    ...loggedIdentity(request?.identity ?? null),
  });
}

/** Returns the credential that made the first request. The terms of a renewal already contain the credential. */
function credentialOf({ kind, id }: Caller): Pick<RenewalTerms, 'credential'> {
  return kind === 'api-key' || kind === 'oauth-client' ? { credential: id } : {};
}

async function takeSerial(tx: EntityManager, id: string): Promise<string> {
  const [rows]: [{ serial: string }[], number] = await tx.query(
    `UPDATE ssh_authority SET serial = serial + 1 WHERE id = $1 AND state = 'ACTIVE' RETURNING serial`,
    [id],
  );
  if (rows[0] !== undefined) return rows[0].serial;
  throw inactive();
}

/**
 * Rejects a name that matches every host, or that a server may interpret as a pattern for every account. Such a name proves nothing about the holder of the
 * key.
 */
function assertPrincipals({ kind }: SshAuthority, principals: readonly string[]): void {
  const refused = principals.findIndex((one) => (kind === 'user' ? one.includes('*') : !namesHost(one)));
  if (refused === -1) return;
  const detail =
    kind === 'user'
      ? 'must be a login name: user certificates cannot contain patterns'
      : 'must name a host: this pattern matches every host';
  const pointer = `/principals/${refused}`;
  throw new Problem('malformed', 'request.invalid', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

function assertTerms({ kind }: SshAuthority, { until }: RenewalTerms, validBefore: Date): void {
  const fault =
    kind === 'user' ? ['', 'is allowed only for hosts'] : ['/until', 'must not be earlier than validBefore'];
  if (kind === 'host' && new Date(until) >= validBefore) return;
  const [pointer, detail] = [`/renewal${fault[0]}`, fault[1] ?? ''];
  throw new Problem('malformed', 'ssh-ca.renewal', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

function uncertifiable(publicKey: string): Problem {
  const isKey = readPublicKeyLine(publicKey) !== undefined;
  const detail = isKey
    ? 'must be an Ed25519, RSA or ECDSA key; other types cannot be certified'
    : publicKeyFault(publicKey);
  return new Problem('malformed', 'ssh-key.unreadable', `/publicKey: ${detail}.`, {
    errors: [{ pointer: '/publicKey', detail }],
  });
}
