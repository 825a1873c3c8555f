import type { Environment } from './environment.js';

export interface VoteRow {
  readonly person: string;
  readonly decision: string;
  readonly stage: number;
  readonly hash: Buffer;
  /** Commit time of the transaction that wrote the vote, in nanoseconds since 1970. */
  readonly committed: bigint;
}

export interface ApprovalRow {
  readonly id: string;
  readonly requestId: string;
  readonly status: string;
  readonly owner: string;
  readonly stages: readonly { readonly threshold: number }[];
  readonly shown: string;
  readonly hash: Buffer;
  /** Milliseconds since 1970. */
  readonly expires: number;
  readonly votes: readonly VoteRow[];
}

export async function readApprovals(environment: Environment): Promise<ApprovalRow[]> {
  const approvals = await environment.sql<Omit<ApprovalRow, 'votes'>>(
    `SELECT id, subject_id AS "requestId", status, owner_id AS owner, stages, shown, hash,
       (extract(epoch FROM expires_at) * 1000)::float8 AS expires FROM approval ORDER BY status, id`,
  );
  const votes = await environment.sql<Omit<VoteRow, 'committed'> & { approval: string; committed: string }>(
    `SELECT approval_id AS approval, user_id AS person, decision, stage, hash,
       (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint::text AS committed FROM approval_vote`,
  );
  const of = Map.groupBy(votes, ({ approval }) => approval);
  return approvals.map((approval) => ({
    ...approval,
    votes: (of.get(approval.id) ?? []).map((vote) => ({ ...vote, committed: BigInt(vote.committed) * 1000n })),
  }));
}
