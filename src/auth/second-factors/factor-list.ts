import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { changeSealed, lockSealed } from '../../platform/sealing/sealed-rows.js';
import { User } from '../model/user.entity.js';
import { SecondFactor } from './second-factor.entity.js';

/**
 * The confirmed factors of a person, by id. The sealed list in the account is compared with the rows: a factor that was deleted or added in the
 * database makes the sign-in fail, and does not lower what is asked for.
 *
 * @throws Problem `second-factor.changed`
 */
export async function factorsOf(tx: EntityManager, userId: string): Promise<SecondFactor[]> {
  const [row]: { account: JsonRow; factors: JsonRow[] }[] = await tx.query(
    `SELECT to_jsonb(u) AS account, coalesce((SELECT jsonb_agg(to_jsonb(f) ORDER BY f.id) FROM second_factor f
       WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL), '[]') AS factors FROM user_account u WHERE u.id = $1`,
    [userId],
  );
  // A person who signs in has an account: somebody took the row away while its factors were read.
  if (row === undefined) throw changed();
  const seals = sealsOf(tx);
  const account = seals.opened(User, row.account);
  const factors = row.factors
    .flatMap((factor) => seals.opened(SecondFactor, factor) ?? [])
    .filter((factor) => factor.userId === userId);
  const ids = factors.map(({ id }) => id);
  // The owner of the database could make PostgreSQL return the account of somebody without factors.
  const listed = account?.id === userId ? account.factors : null;
  const known = listed ?? (seals.demandsSealOf(User) ? undefined : ids);
  if (known !== undefined && [...known].sort().join() === ids.sort().join()) return factors;
  throw changed();
}

function changed(): Problem {
  const detail =
    'The second factors of this account were changed in the database, not by the service. Ask an administrator to reset them.';
  return new Problem('forbidden', 'second-factor.changed', detail);
}

/** Changes the sealed list of a person's factors, in the transaction that changes the rows. */
export async function changeFactors(
  tx: EntityManager,
  userId: string,
  change: (ids: readonly string[]) => string[],
): Promise<void> {
  const account = await lockSealed(tx, User, { id: userId });
  // The list of an account of an earlier version is made when its rows are adopted.
  if (account === null || account.factors === null) return;
  await changeSealed(tx, User, { id: userId }, { factors: change(account.factors) });
}
