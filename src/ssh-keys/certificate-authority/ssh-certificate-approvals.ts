import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { type ApprovalRequirement, ApprovalsService, type PolicyJudgement } from '../../approvals/approvals.service.js';
import { approvalHash } from '../../approvals/approvals.service.js';
import { type KeyUseToApprove, usesOfCertificate } from '../../approvals/policies/key-use.port.js';
import type { Caller } from '../../access/caller.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { newId } from '../../platform/database/new-id.js';
import { advisoryLock } from '../../platform/database/statements.js';
import { Problem } from '../../platform/errors/problem.js';
import { sshFingerprintOf, publicKeyLine, sshPublicKeyOfSpki } from '../../formats/ssh/public-key.js';
import { nameInTitle, shorten } from '../../platform/text/truncate.js';
import type { SshAuthority } from './ssh-authority.entity.js';
import { type CertificateRequest, SshCertificate } from './ssh-certificate.entity.js';

/** Audit action for a renewed certificate. */
const RENEWED = 'ssh-ca.certificate-renewed';
const MAX_TITLE_LENGTH = 200;
const MAX_NAME_LENGTH = 80;

/** Facts that determine whether a certificate needs approval: columns of the certificate's row, and its request. */
type JudgedCertificate = Pick<SshCertificate, 'keyId' | 'principals' | 'renews'>;
type JudgedRequest = Pick<CertificateRequest, 'publicKey' | 'requestedBy' | 'identity'>;

/**
 * SshCertificateApprovals determines who must approve an SSH certificate, what the approval shows, and whether an approval covers a certificate that is about
 * to be signed.
 */
@Injectable()
export class SshCertificateApprovals {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
    private readonly vouched: VouchedEntries,
    private readonly ledger: RightsLedger,
  ) {}

  /** Returns the approval required to issue the certificate. The requirements for all principals must be met. */
  judge(
    authority: Pick<SshAuthority, 'name' | 'kind'>,
    certificate: JudgedCertificate,
    request: JudgedRequest,
  ): Promise<PolicyJudgement> {
    return this.approvals.judgeAll('ssh-certificate', usesOfRow(authority, certificate, request));
  }

  /**
   * Asserts that the policies are unchanged since an evaluation. Runs inside the transaction that acts on the evaluation. Throws Problem
   * `approval.policies-changed`.
   */
  assertCurrent(tx: EntityManager, { revision }: PolicyJudgement): Promise<void> {
    return this.approvals.assertCurrent(tx, revision);
  }

  /** Requests approval inside the transaction that writes the certificate's row. Returns the ID of the approval. */
  async ask(
    tx: EntityManager,
    caller: Caller,
    {
      authority,
      certificate,
      demand,
    }: { authority: SshAuthority; certificate: SshCertificate; demand: ApprovalRequirement },
  ): Promise<string> {
    const id = newId();
    const { keyId, principals } = certificate;
    const order = { id, kind: 'ssh-certificate' as const, subjectId: certificate.id, demand };
    const names = principals.map((one) => nameInTitle(one, MAX_NAME_LENGTH));
    const title = `Certify the SSH key of ${nameInTitle(keyId, MAX_NAME_LENGTH)} for ${names.join(', ')}`;
    const shown = documentOf(authority, certificate);
    await this.approvals.request(tx, caller, { ...order, title: shorten(title, MAX_TITLE_LENGTH), shown });
    return id;
  }

  /**
   * Returns `covered` if the row may be signed now: an approval covers exactly this row and meets the current policies, or the policies require no approval.
   * Returns `waits` if the current policies require further votes; the certificate is then PENDING_APPROVAL again. The log must confirm the request, because
   * anyone with write access to the database can insert a row.
   */
  async clearance(authority: SshAuthority, certificate: SshCertificate): Promise<'covered' | 'refused' | 'waits'> {
    const { id, approvalId, request } = certificate;
    if (request === null) return 'refused';
    const [granted] = await this.approvals.granted(this.db.manager, 'ssh-certificate', [id]);
    if (granted === undefined && approvalId === null)
      return (await this.isFree(authority, certificate, request)) ? 'covered' : 'refused';
    const isGiven = granted?.granted === true && granted.id === approvalId;
    // A failed certificate is not signed, even if its row is READY again.
    if ((await this.ledger.latest()).refused.has(id)) return 'refused';
    if (!isGiven || !granted.hash.equals(approvalHash(documentOf(authority, certificate)))) return 'refused';
    if ((await this.approvals.lostGround(this.db.manager, granted.id)) !== undefined) return 'refused';
    return (await this.reopen(granted.id, certificate, usesOfRow(authority, certificate, request)))
      ? 'waits'
      : 'covered';
  }

  /** Reports whether a certificate needs no approval and is unchanged since the request. */
  private async isFree(
    authority: SshAuthority,
    certificate: SshCertificate,
    request: CertificateRequest,
  ): Promise<boolean> {
    if (!(await this.isLogged(authority, certificate))) return false;
    const uses = usesOfRow(authority, certificate, request);
    const { demand } = await this.approvals.judgeNow(this.db.manager, 'ssh-certificate', uses);
    return demand === undefined;
  }

  /** Reports whether the current policies require further votes. If they do, changes the certificate back to PENDING_APPROVAL. */
  private async reopen(approvalId: string, certificate: SshCertificate, uses: KeyUseToApprove[]): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const { demand } = await this.approvals.judgeNow(tx, 'ssh-certificate', uses);
      if (!(await this.approvals.fallsShort(tx, approvalId, demand))) return false;
      const waiting = { id: certificate.id, status: 'READY' as const, certificate: IsNull() };
      const { affected } = await tx.update(SshCertificate, waiting, { status: 'PENDING_APPROVAL' });
      if (affected === 1) await this.approvals.reopen(tx, approvalId, demand);
      return true;
    });
  }

  /**
   * Asserts, in the transaction that writes the successor of a certificate, that the log contains no successor. The row of a successor alone does not prevent a
   * second successor, because its `renews` column can be cleared in the database. Throws Problem `ssh-renewal.renewed`.
   */
  async assertNotRenewed(tx: EntityManager, certificateId: string): Promise<void> {
    await advisoryLock(tx, `ssh-certificate ${certificateId}`);
    if ((await this.vouched.about(tx, [certificateId], [RENEWED])).length === 0) return;
    const detail = 'The certificate has already been renewed. Use its successor, or request a new certificate.';
    throw new Problem('conflict', 'ssh-renewal.renewed', detail);
  }

  /** Reports whether the log confirms that the row is unchanged since the request. */
  async isLogged(authority: SshAuthority, certificate: SshCertificate): Promise<boolean> {
    const { detail, ...wanted } = contentEntry(authority, certificate);
    const entries = await this.vouched.about(this.db.manager, [wanted.target.id], [wanted.action]);
    return entries.length === 1 && entries[0]?.detail['sha256'] === detail.sha256;
  }
}

/** renewalEntries returns the log entry about the certificate that this certificate renews, if there is one. See assertNotRenewed. */
export function renewalEntries({ id, renews }: SshCertificate) {
  if (renews === null) return [];
  return [{ action: RENEWED, target: { kind: 'ssh-certificate', id: renews }, detail: { certificateId: id } }];
}

/** Returns the log entry that describes the content of a certificate. The row is compared with this entry before signing. */
export function contentEntry(authority: SshAuthority, certificate: SshCertificate) {
  const sha256 = approvalHash(documentOf(authority, certificate)).toString('base64');
  const target = { kind: 'ssh-certificate', id: certificate.id };
  return { action: 'ssh-ca.certificate-described', target, detail: { sha256 } };
}

/**
 * Returns the facts of a certificate that policies evaluate, built from its row. The facts are identical at the request, before signing, and in policy trials.
 */
export function usesOfRow(
  { name, kind }: Pick<SshAuthority, 'name' | 'kind'>,
  { keyId, principals, renews }: JudgedCertificate,
  { publicKey, requestedBy, identity }: JudgedRequest,
): KeyUseToApprove[] {
  const [keyType = ''] = publicKey.split(' ');
  const callers = [requestedBy.id, requestedBy.ownerId];
  return usesOfCertificate({
    authority: name,
    kind,
    keyType,
    keyId,
    principals,
    isRenewal: renews !== null,
    callers,
    identity: identity ?? null,
  });
}

/** Returns the document that approvers see: the complete content of the certificate, built only from database rows. */
function documentOf(authority: SshAuthority, certificate: SshCertificate): Record<string, unknown> {
  const { id, serial, keyId, principals, validAfter, validBefore, request, renews } = certificate;
  if (request === null) throw new Error('the certificate is pending approval but has no request');
  const { publicKey, sourceAddress, forceCommand, extensions, requestedBy, identity, renewal, rule } = request;
  const authorityKey = sshPublicKeyOfSpki(authority.publicKey);
  return {
    operation: 'ssh-certificate',
    certificate: id,
    authority: {
      id: authority.id,
      name: authority.name,
      kind: authority.kind,
      publicKey: publicKeyLine(authorityKey),
      fingerprint: sshFingerprintOf(authorityKey.blob),
    },
    serial,
    publicKey,
    keyId,
    principals: [...principals],
    validAfter: validAfter.toISOString(),
    validBefore: validBefore.toISOString(),
    sourceAddress,
    forceCommand,
    extensions: [...extensions],
    requestedBy: { ...requestedBy },
    // Undefined without renewal terms, so that documents created by the previous version remain unchanged.
    renewal: renewal === undefined ? undefined : { ...renewal },
    rule: rule === undefined ? undefined : { ...rule },
    renews: renews ?? undefined,
    verified: identity,
  };
}
