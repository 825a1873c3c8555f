import { changeSealed, insertSealed, trustedRows } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { Claims } from '../../access/identity/verified-identity.js';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { findAuthority } from '../certificate-authority/ssh-authority.entity.js';
import type { CertificateKind } from '../certificate-authority/ssh-certificate.js';
import { type RuleVerdict, ruleVerdict, isOnlyClaims } from './login-principals.js';
import { requiredOrigin } from './required-origin.js';
import { type LoginSubject, SshLoginRule } from '../certificate-authority/ssh-login-rule.entity.js';

/** Maximum number of rules per trial. Users cannot review more rules than this. */
const MAX_TRIED = 1000;

export type SshLoginRuleOrder = Omit<SshLoginRule, 'id' | 'revision' | 'createdAt' | 'updatedAt' | 'seal'>;

/** SshLoginRulesService manages the rules according to which users and workloads get SSH certificates. */
@Injectable()
export class SshLoginRulesService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('ssh-login-rule');
  }

  async create(caller: Caller, order: SshLoginRuleOrder, use?: IdempotentUse): Promise<SshLoginRule> {
    const id = use?.resource ?? newId();
    return this.write(order, async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return this.read(earlier, tx);
      await insertSealed(tx, SshLoginRule, { id, ...order });
      await this.record(tx, caller, 'ssh-login-rule.created', id, { ...order });
      return this.read(id, tx);
    });
  }

  /** Replaces a rule. Certificates that were already issued remain valid until they expire. */
  async change(caller: Caller, id: string, revision: number, order: SshLoginRuleOrder): Promise<SshLoginRule> {
    return this.write(order, async (tx) => {
      await this.read(id, tx);
      const change = { ...order, revision: revision + 1, updatedAt: () => 'now()' };
      const changed = await changeSealed(tx, SshLoginRule, { id, revision }, change);
      if (changed !== 1) throw staleProblem(`/v1/ssh-login-rules/${id}`);
      await this.record(tx, caller, 'ssh-login-rule.changed', id, { ...order });
      return this.read(id, tx);
    });
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { name } = await this.read(id, tx);
      await tx.delete(SshLoginRule, { id });
      await this.record(tx, caller, 'ssh-login-rule.removed', id, { name });
    });
  }

  async read(id: string, tx: EntityManager = this.db.manager): Promise<SshLoginRule> {
    const rule = await tx.findOneBy(SshLoginRule, { id });
    if (rule !== null) return rule;
    throw missing('ssh-login-rule');
  }

  /** Returns rules, newest first. */
  list(page: PageQuery): Promise<Page<SshLoginRule>> {
    return this.cursors.newest('ssh-login-rules', this.db.createQueryBuilder(SshLoginRule, 'rule'), page);
  }

  /**
   * Applies each rule to the claims of a caller without issuing a certificate. Returns the verdicts: first the rules that would issue a certificate, then the
   * other rules, each sorted by name.
   */
  async try(subject: LoginSubject, claims: Claims): Promise<RuleVerdict[]> {
    const rules = await this.db.manager.find(SshLoginRule, { order: { name: 'ASC' }, take: MAX_TRIED });
    const origin = await requiredOrigin(this.db.manager, subject, claims);
    const verdicts = trustedRows(this.db.manager, SshLoginRule, rules).map((rule) =>
      ruleVerdict(rule, { subject, claims, origin }),
    );
    return verdicts.sort((a, b) => Number(b.accepted) - Number(a.accepted));
  }

  private write(order: SshLoginRuleOrder, work: (tx: EntityManager) => Promise<SshLoginRule>): Promise<SshLoginRule> {
    const detail = `A rule named "${order.name}" already exists.`;
    const checked = async (tx: EntityManager) => {
      const authority = await findAuthority(tx, order.authorityId);
      const fault = authority === null ? 'does not exist' : faultOfRule(authority.kind, order);
      if (fault === undefined) {
        if (authority?.kind === 'user') assertFixedPart(order);
        return work(tx);
      }
      const errors = [{ pointer: '/authorityId', detail: fault }];
      throw new Problem('refused', 'ssh-login-rule.authority', `/authorityId: ${fault}.`, { errors });
    };
    return writeUnique(this.db, checked, () => new Problem('conflict', 'ssh-login-rule.name-taken', detail));
  }
}

/**
 * assertFixedPart rejects a rule in which claims of a workload alone determine the account. Otherwise, anyone who can name a project or a service account could
 * choose the account. Rules for users are exempt, because login names of users are usually derived from their email address.
 *
 * @throws Problem `ssh-login-rule.principal`
 */
function assertFixedPart({ subject, principals }: SshLoginRuleOrder): void {
  const index = principals.findIndex(isOnlyClaims);
  if (subject !== 'workload' || index === -1) return;
  const pointer = `/principals/${index}`;
  const detail =
    'needs a fixed part, such as ci-{project_id}, because the claims of a run would otherwise choose the account';
  throw new Problem('refused', 'ssh-login-rule.principal', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

/**
 * Returns the reason why an authority cannot issue certificates according to a rule. Users are not hosts, and host certificates have neither critical options
 * nor extensions (OpenSSH's PROTOCOL.certkeys).
 */
function faultOfRule(kind: CertificateKind, order: SshLoginRuleOrder): string | undefined {
  if (kind === 'user') return undefined;
  if (order.subject === 'person') return 'certifies hosts, not users';
  const hasLimits = order.bindAddress || order.sourceAddress !== null || order.forceCommand !== null;
  return hasLimits || order.extensions.length > 0
    ? 'are not supported, because this authority certifies hosts'
    : undefined;
}
