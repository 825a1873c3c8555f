import { Injectable, Logger } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { DataSource, IsNull } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Actor } from '../../access/caller.js';
import { KeyVault } from '../../hsm/key-vault.js';
import { readPublicKeyLine, sshPublicKeyOfSpki } from '../../formats/ssh/public-key.js';
import { sshSignature } from '../../formats/ssh/ssh-signature.js';
import { findAuthority, type SshAuthority } from './ssh-authority.entity.js';
import { authorityIdentity, entry, inactive } from './ssh-authorities.service.js';
import { SshCertificateApprovals } from './ssh-certificate-approvals.js';
import { type CertificateRequest, SshCertificate } from './ssh-certificate.entity.js';
import { certificateLine, type CertificateContent, signingOf, toBeSigned } from './ssh-certificate.js';
import { Background, isWorker } from '../../platform/work/background.js';

const NONCE_BYTES = 32;
/** Maximum number of certificates that one sweep signs. */
const MAX_SWEPT = 50;
/** Number of seconds after which other processes sign a certificate that the process that accepted or released it has not signed. */
const SWEEP_AFTER_SECONDS = 10;

const UNSIGNED = {
  table: 'ssh_certificate',
  where: `certificate IS NULL AND status = 'READY' AND request IS NOT NULL AND created_at < now() - interval '${SWEEP_AFTER_SECONDS} seconds'`,
  order: 'created_at',
};

export const SSH_CA_ACTOR: Actor = { kind: 'system', id: 'ssh-ca', name: 'ssh-ca' };

/** SshCertificateSigner signs accepted and approved certificates with the authority's key in the HSM. */
@Injectable()
export class SshCertificateSigner {
  private readonly logger = new Logger(SshCertificateSigner.name);

  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
    private readonly approvals: SshCertificateApprovals,
  ) {}

  /**
   * Returns the certificate's row, after signing the certificate if necessary and allowed. Concurrent calls are safe: the first stored signature is kept.
   * @throws Problem `ssh-ca.inactive` if the authority no longer issues certificates
   */
  async sign(id: string): Promise<SshCertificate> {
    const row = await this.db.manager.findOneByOrFail(SshCertificate, { id });
    const { request } = row;
    if (row.certificate !== null || row.status !== 'READY' || request === null) return row;
    const authority = await findAuthority(this.db.manager, row.authorityId);
    if (authority?.state !== 'ACTIVE') {
      await this.fail(row, 'ssh-ca.inactive', 'The authority no longer issues certificates.');
      throw inactive();
    }
    const clearance = await this.approvals.clearance(authority, row);
    if (clearance === 'refused') {
      const detail =
        'The certificate to sign differs from the approved certificate, or from the request in the audit log. Request it again.';
      await this.fail(row, 'ssh-ca.not-approved', detail);
    } else if (clearance === 'covered') {
      const certificate = await this.certificateOf(authority, row, request);
      const waiting = { id, certificate: IsNull(), status: 'READY' as const };
      const { affected } = await this.db.manager.update(SshCertificate, waiting, { certificate });
      if (affected === 1) return Object.assign(row, { certificate });
    }
    return this.db.manager.findOneByOrFail(SshCertificate, { id });
  }

  /** Signs accepted or approved certificates that are still unsigned, because a process died or the HSM was unavailable. */
  @Background({ name: 'ssh-certificates', scope: 'process', due: UNSIGNED, when: isWorker })
  async sweep(): Promise<void> {
    const rows: { id: string }[] = await this.db.query(
      `SELECT id FROM ${UNSIGNED.table} WHERE ${UNSIGNED.where} ORDER BY ${UNSIGNED.order} LIMIT ${MAX_SWEPT}`,
    );
    for (const { id } of rows) {
      await this.sign(id).catch((error: unknown) =>
        this.logger.warn(`SSH certificate ${id} is not signed yet: ${String(error)}`),
      );
    }
  }

  private async fail(row: SshCertificate, code: string, detail: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.update(
        SshCertificate,
        { id: row.id, status: 'READY', certificate: IsNull() },
        { status: 'FAILED', failureCode: code, failureDetail: detail },
      );
      if (affected !== 1) return;
      const failed = entry('ssh-ca.certificate-failed', row.authorityId, { certificateId: row.id, code });
      await this.audit.append(tx, [{ ...failed, actor: SSH_CA_ACTOR, correlation: row.request?.correlation ?? '' }]);
    });
  }

  private async certificateOf(
    { id, kind, ckaId, publicKey }: SshAuthority,
    row: SshCertificate,
    request: CertificateRequest,
  ): Promise<string> {
    const key = readPublicKeyLine(request.publicKey);
    if (key === undefined) throw new Error('the key of a certificate was read before its row was written');
    const content: CertificateContent = {
      kind,
      key,
      serial: BigInt(row.serial),
      keyId: row.keyId,
      principals: row.principals,
      validAfter: row.validAfter,
      validBefore: row.validBefore,
      sourceAddress: request.sourceAddress ?? undefined,
      forceCommand: request.forceCommand ?? undefined,
      extensions: request.extensions,
    };
    const bytes = toBeSigned(content, randomBytes(NONCE_BYTES), sshPublicKeyOfSpki(publicKey));
    const signing = signingOf(publicKey);
    const { type, scheme, algorithm } = signing;
    const signature = await this.vault.sign({
      key: { ckaId, identity: authorityIdentity(id), publicKey, type },
      scheme,
      algorithm,
      digest: createHash(algorithm).update(bytes).digest(),
    });
    return certificateLine(content, bytes, sshSignature(signing.name, signature));
  }
}
