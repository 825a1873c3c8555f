import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import type { PolicySubject } from '../subjects/approval-subject.port.js';
import type { ApprovalPolicy, Condition } from './approval-policy.entity.js';

/** Facts about the thing to be approved, by name. A fact may have several values, such as a caller and the person behind it. */
export type PolicyFacts = Readonly<Record<string, readonly string[]>>;

export interface Stage {
  readonly groupId: string;
  /** The group's name when the approval was asked for. */
  readonly group: string;
  readonly threshold: number;
}

/** Who must approve, how many, and until when. It stays as it was when the approval was asked for. */
export interface ApprovalRequirement {
  readonly policies: readonly { readonly id: string; readonly name: string; readonly revision: number }[];
  readonly stages: readonly Stage[];
  readonly expiresInSeconds: number;
  readonly commentRequired: boolean;
  readonly rejectThreshold: number;
}

/** The judgement of the policies of one revision; without a demand nobody needs to approve. */
export interface Judgement {
  readonly revision: number;
  readonly demand: ApprovalRequirement | undefined;
}

export interface JointJudgement extends Judgement {
  /** Which of them need approval. */
  readonly held: readonly boolean[];
}

/** A use of a key that policies judge. */
export interface KeyUseToApprove {
  /** Name of the key. */
  readonly key: string;
  readonly facts: PolicyFacts;
}

interface Book {
  readonly revision: number;
  readonly policies: readonly ApprovalPolicy[];
  readonly groups: ReadonlyMap<string, string>;
}

const WHOLE = '*';

/** Judges by all policies, which it remembers for seconds. A statement that acts on a judgement checks its revision (POLICY_REVISION). */
@Injectable()
export class PolicyEvaluation {
  private readonly book = new TtlCache<Book>(() => this.read());

  constructor(private readonly db: DataSource) {}

  async judge(kind: PolicySubject, use: KeyUseToApprove): Promise<Judgement> {
    const { revision, demand } = await this.judgeAll(kind, [use]);
    return { revision, demand };
  }

  /** Judges many uses that one approval is to cover: the requirement is that of all of them together. */
  async judgeAll(kind: PolicySubject, uses: readonly KeyUseToApprove[]): Promise<JointJudgement> {
    const book = await this.book.find(WHOLE);
    if (book === null) throw new Error('the policies are there, or reading them fails');
    const applying = uses.map((use) => book.policies.filter((policy) => applies(policy, kind, use)));
    const all = book.policies.filter((policy) => applying.some((some) => some.includes(policy)));
    const demand = all.length === 0 ? undefined : joined(all, book.groups);
    return { revision: book.revision, demand, held: applying.map((some) => some.length > 0) };
  }

  /** The next judgement reads again. */
  forget(): void {
    this.book.forget(WHOLE);
  }

  private async read(): Promise<Book> {
    const rows: (ApprovalPolicy & { total: number })[] = await this.db.query(
      `SELECT r.revision AS total, p.id, p.name, p.subject, p.keys, p.conditions, p.stages, p.revision,
         p.expires_in_seconds AS "expiresInSeconds", p.comment_required AS "commentRequired", p.reject_threshold AS "rejectThreshold"
       FROM approval_policy_revision r LEFT JOIN approval_policy p ON true ORDER BY p.name`,
    );
    const [first] = rows;
    if (first === undefined) throw new Error('approval_policy_revision has no row');
    const policies = first.id === null ? [] : rows;
    const ids = policies.flatMap(({ stages }) => stages.map(({ groupId }) => groupId));
    const groups: { id: string; name: string }[] =
      ids.length === 0
        ? []
        : await this.db.query(`SELECT id, name FROM approver_group WHERE id = ANY($1::uuid[])`, [ids]);
    return { revision: first.total, policies, groups: new Map(groups.map(({ id, name }) => [id, name])) };
  }
}

function applies(
  { subject, keys, conditions }: ApprovalPolicy,
  kind: PolicySubject,
  { key, facts }: KeyUseToApprove,
): boolean {
  const guards = subject === kind && (keys.includes(key) || keys.includes(WHOLE));
  return guards && conditions.every((condition) => holds(condition, facts));
}

/** The requirement of all policies that apply: another policy never makes it easier. A group in two policies is asked once, with the higher threshold. */
function joined(policies: readonly ApprovalPolicy[], groups: ReadonlyMap<string, string>): ApprovalRequirement {
  const stages = new Map<string, Stage>();
  for (const { groupId, threshold } of policies.flatMap((policy) => policy.stages)) {
    const most = Math.max(threshold, stages.get(groupId)?.threshold ?? 0);
    stages.set(groupId, { groupId, group: groups.get(groupId) ?? '', threshold: most });
  }
  return {
    policies: policies.map(({ id, name, revision }) => ({ id, name, revision })),
    stages: [...stages.values()],
    expiresInSeconds: Math.min(...policies.map(({ expiresInSeconds }) => expiresInSeconds)),
    commentRequired: policies.some(({ commentRequired }) => commentRequired),
    rejectThreshold: Math.min(...policies.map(({ rejectThreshold }) => rejectThreshold)),
  };
}

/**
 * Whether a condition holds. A condition on a fact that is absent holds: a request without the metadata that a policy looks at does not
 * evade the policy.
 */
function holds({ fact, op, values }: Condition, facts: PolicyFacts): boolean {
  const known = facts[fact];
  if (known === undefined || known.length === 0) return true;
  const isMet = known.some((value) => values.some((wanted) => matches(wanted, value)));
  return op === 'in' ? isMet : !isMet;
}

function matches(wanted: string, value: string): boolean {
  return wanted.endsWith('*') ? value.startsWith(wanted.slice(0, -1)) : value === wanted;
}
