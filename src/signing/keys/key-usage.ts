import type { EntityManager } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import { Problem } from '../../platform/errors/problem.js';
import type { KeyConstraints } from './key-constraints.js';

/** A request about to be accepted for a key. */
export interface CountedUse {
  readonly keyId: string;
  readonly keyName: string;
  readonly limits: Pick<KeyConstraints, 'perDay' | 'lifetime'>;
}

interface Demand {
  readonly keyId: string;
  readonly keyName: string;
  readonly period: 'day' | 'lifetime';
  readonly most: number;
  count: number;
}

const TODAY = `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

/**
 * Counts uses in the transaction that accepts the requests. Each key and period is updated with a single compare-and-set, so that concurrent requests cannot
 * both take the last remaining use. The order is always the same, so that transactions do not deadlock. Throws for the whole group if the group exceeds a limit
 * of one key; GroupCommit then writes smaller groups, down to single requests. A use remains counted if the request fails later.
 */
export async function countUses(tx: EntityManager, uses: readonly CountedUse[]): Promise<void> {
  const demands = demandsOf(uses);
  if (demands.length === 0) return;
  const rows = demands.map(({ keyId, period, count, most }) => ({ key_id: keyId, period, count, most }));
  const { from, values } = columns(rows, { key_id: 'uuid', period: 'text', count: 'int', most: 'int' });
  const taken: { key_id: string; period: string }[] = await tx.query(
    `INSERT INTO signing_key_usage AS u (key_id, period, used, most)
     SELECT key_id, CASE period WHEN 'day' THEN ${TODAY} ELSE period END, count, most FROM ${from} WHERE count <= most
     ON CONFLICT (key_id, period) DO UPDATE SET used = u.used + excluded.used, most = excluded.most
       WHERE u.used + excluded.used <= excluded.most
     RETURNING key_id, period`,
    values,
  );
  const refused = demands.find(
    ({ keyId, period }) =>
      !taken.some((row) => row.key_id === keyId && (row.period === 'lifetime') === (period === 'lifetime')),
  );
  if (refused !== undefined) throw spent(refused);
}

/** Initializes the counters of a key with its uses so far. Limits apply to all uses since the key was created, regardless of when the limits are set. */
export async function startCounting(
  tx: EntityManager,
  keyId: string,
  { perDay, lifetime }: KeyConstraints,
): Promise<void> {
  await tx.query(
    `INSERT INTO signing_key_usage AS u (key_id, period, used, most)
     SELECT $1::uuid, period, used, most FROM (
       SELECT 'lifetime' AS period, $3::int AS most, count(*) AS used FROM signing_request WHERE key_id = $1 AND NOT composed
       UNION ALL SELECT ${TODAY}, $2::int, count(*) FROM signing_request
         WHERE key_id = $1 AND NOT composed AND created_at >= date_trunc('day', now(), 'UTC')) AS so_far
     WHERE most IS NOT NULL
     ON CONFLICT (key_id, period) DO UPDATE SET used = greatest(u.used, excluded.used), most = excluded.most`,
    [keyId, perDay ?? null, lifetime ?? null],
  );
}

function demandsOf(uses: readonly CountedUse[]): Demand[] {
  const demands = new Map<string, Demand>();
  for (const { keyId, keyName, limits } of uses) {
    for (const [period, most] of [
      ['day', limits.perDay],
      ['lifetime', limits.lifetime],
    ] as const) {
      if (most === undefined) continue;
      const demand = demands.get(`${keyId} ${period}`) ?? { keyId, keyName, period, most, count: 0 };
      demand.count += 1;
      demands.set(`${keyId} ${period}`, demand);
    }
  }
  return [...demands.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, demand]) => demand);
}

/** Time for which an exceeded limit is remembered. */
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 1000;

/**
 * SpentKeys remembers keys that have reached a limit. Further requests for these keys are rejected without a transaction, because the transaction would fail
 * for all requests of the group. An entry applies to one revision of a key, so a raised limit takes effect immediately.
 */
export class SpentKeys {
  private readonly refusals = new Map<string, { readonly problem: Problem; readonly until: number }>();

  /**
   * Throws the Problem of an earlier request for this revision of the key.
   *
   * @param isRepeated reports whether this request repeats an accepted request, whose result is then returned
   */
  async assertNotSpent(keyId: string, revision: number, isRepeated: () => Promise<boolean>): Promise<void> {
    const refusal = this.refusals.get(`${keyId} ${revision}`);
    if (refusal === undefined || performance.now() >= refusal.until || (await isRepeated())) return;
    throw refusal.problem;
  }

  /** Remembers the error of a single request if the key has reached a limit. */
  note(keyId: string, revision: number, error: unknown): void {
    if (!(error instanceof Problem && LIMIT_CODES.includes(error.code))) return;
    if (this.refusals.size >= MAX_REMEMBERED) this.refusals.clear();
    this.refusals.set(`${keyId} ${revision}`, { problem: error, until: performance.now() + REMEMBERED_MS });
  }
}

const LIMIT_CODES = ['key-policy.quota', 'key-policy.lifetime'];

function spent({ keyName, period, most }: Demand): Problem {
  return period === 'day'
    ? new Problem(
        'conflict',
        'key-policy.quota',
        `Key "${keyName}" has reached its daily limit of ${most} signatures (resets at 00:00 UTC).`,
      )
    : new Problem(
        'conflict',
        'key-policy.lifetime',
        `Key "${keyName}" has reached its lifetime limit of ${most} signatures.`,
      );
}
