import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import {
  type ApprovalSubject,
  type SubjectApproval,
  ApprovalSubjectsService,
} from '../../approvals/policies/approval-subject.port.js';
import type { KeyUseToApprove } from '../../approvals/policies/key-use.port.js';
import type { Caller } from '../../access/caller.js';
import { mayDo } from '../../access/scopes.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { Problem } from '../../platform/errors/problem.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import { SshLoginRule } from './ssh-login-rule.entity.js';
import { authoritiesBy, findAuthority, SshAuthority } from './ssh-authority.entity.js';
import { SshCertificateApprovals, usesOfRow } from './ssh-certificate-approvals.js';
import { SSH_CA_ACTOR, SshCertificateSigner } from './ssh-certificate-signer.js';
import { SshCertificate } from './ssh-certificate.entity.js';
import { certificateEntry } from './ssh-certificates.service.js';

/** SshCertificateSubject updates SSH certificates when their approvals are decided. */
@Injectable()
export class SshCertificateSubject implements ApprovalSubject, OnModuleInit {
  private readonly logger = new Logger(SshCertificateSubject.name);

  constructor(
    private readonly subjects: ApprovalSubjectsService,
    private readonly audit: AuditService,
    private readonly signer: SshCertificateSigner,
    private readonly approvals: SshCertificateApprovals,
  ) {}

  onModuleInit(): void {
    this.subjects.register('ssh-certificate', this);
  }

  /** Returns the names that do not belong to any authority. In policies for SSH certificates, key names are authority names. */
  async unknownKeys(tx: EntityManager, names: readonly string[]): Promise<readonly string[]> {
    const known = await tx.find(SshAuthority, { select: { name: true }, where: { name: In([...names]) } });
    const found = new Set(known.map(({ name }) => name));
    return names.filter((name) => !found.has(name));
  }

  /** Returns the facts of the certificates. Throws Problem `ssh-ca.no-certificate` for certificates that the caller may not see. */
  async usesOf(tx: EntityManager, caller: Caller, ids: readonly string[]): Promise<KeyUseToApprove[][]> {
    const found = ids.length === 0 ? [] : await tx.findBy(SshCertificate, { id: In([...ids]) });
    const authorities = await authoritiesBy(tx, { id: In(found.map(({ authorityId }) => authorityId)) });
    return ids.map((id) => {
      const certificate = found.find((one) => one.id === id.toLowerCase());
      const authority = authorities.find((one) => one.id === certificate?.authorityId);
      const request = certificate?.request ?? undefined;
      const maySee = request?.requestedBy.ownerId === caller.ownerId || mayDo(caller.scopes, 'audit:read');
      if (authority !== undefined && certificate !== undefined && request !== undefined && maySee)
        return usesOfRow(authority, certificate, request);
      throw new Problem('missing', 'ssh-ca.no-certificate', `SSH certificate ${id} not found.`);
    });
  }

  async usesToApprove(tx: EntityManager, { subjectId: id }: SubjectApproval): Promise<KeyUseToApprove[]> {
    const certificate = await tx.findOneByOrFail(SshCertificate, { id });
    if (certificate.request === null) throw new Error('the certificate is pending approval but has no request');
    const authority = await findAuthority(tx, certificate.authorityId);
    if (authority === null) throw new Error("the certificate's authority does not exist");
    return usesOfRow(authority, certificate, certificate.request);
  }

  /** Returns a Problem if the certificate no longer matches the logged request, or if its login rule was changed, disabled or removed. */
  async lostGround(tx: EntityManager, { subjectId: id }: SubjectApproval): Promise<Problem | undefined> {
    const certificate = await tx.findOneByOrFail(SshCertificate, { id });
    const authority = await findTrusted(tx, SshAuthority, { id: certificate.authorityId });
    if (authority === null || !(await this.approvals.isLogged(authority, certificate)))
      return new Problem('refused', 'approval.withdrawn', 'The request was changed in the database. Submit it again.');
    const rule = certificate.request?.rule;
    if (rule === undefined) return undefined;
    const now = await findTrusted(tx, SshLoginRule, { id: rule.id });
    if (now?.enabled === true && now.revision === rule.revision) return undefined;
    const detail = 'The login rule was changed, disabled or removed. Request the certificate again.';
    return new Problem('refused', 'approval.withdrawn', detail);
  }

  async released(tx: EntityManager, approval: SubjectApproval): Promise<void> {
    if (!(await this.move(tx, approval, { status: 'READY' })))
      throw new Problem('conflict', 'approval.subject-gone', 'The certificate is not waiting for this approval.');
  }

  async ended(tx: EntityManager, approval: SubjectApproval, why: Problem): Promise<void> {
    await this.move(tx, approval, { status: 'FAILED', failureCode: why.code, failureDetail: why.message });
  }

  decided(subjectId: string): void {
    void this.signer
      .sign(subjectId)
      .catch((error: unknown) =>
        this.logger.warn(
          `SSH certificate ${subjectId} was not signed immediately; the next sweep will sign it: ${String(error)}`,
        ),
      );
  }

  /** Moves a certificate that is pending this approval to the next status, with an audit entry. Returns false if the certificate is not pending. */
  private async move(
    tx: EntityManager,
    { approvalId, subjectId, correlation }: SubjectApproval,
    to: Pick<SshCertificate, 'status'> & Partial<Pick<SshCertificate, 'failureCode' | 'failureDetail'>>,
  ): Promise<boolean> {
    const { affected } = await tx.update(SshCertificate, { id: subjectId, status: 'PENDING_APPROVAL', approvalId }, to);
    if (affected !== 1) return false;
    const certificate = await tx.findOneByOrFail(SshCertificate, { id: subjectId });
    const { target, detail: said, ...entry } = certificateEntry(certificate);
    // The content of the row is logged only if it matches the request. The row could have been changed since the request, or by the update itself.
    const authority = await findTrusted(tx, SshAuthority, { id: certificate.authorityId });
    const isAsAsked = authority !== null && (await this.approvals.isLogged(authority, certificate));
    const detail = isAsAsked ? said : { certificateId: subjectId };
    const isFailed = to.status === 'FAILED';
    const action = isFailed ? 'ssh-ca.certificate-failed' : entry.action;
    const more = isFailed ? { code: to.failureCode } : {};
    await this.audit.append(tx, [
      { action, target, detail: { ...detail, ...more }, actor: SSH_CA_ACTOR, correlation, source: '' },
    ]);
    return true;
  }
}
