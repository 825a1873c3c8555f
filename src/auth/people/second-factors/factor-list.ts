import type { EntityManager } from 'typeorm';
import { Problem } from '../../../platform/errors/problem.js';
import { sealsOf } from '../../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../../platform/sealing/row-text.js';
import { changeSealed, findTrusted, lockSealed } from '../../../platform/sealing/sealed-rows.js';
import { User } from '../../model/user.entity.js';
import { SecondFactor } from './second-factor.entity.js';

/**
 * factorsOf returns the confirmed factors of an account, ordered by ID. The sealed list in the account must match the rows: if a factor was deleted
 * or added directly in the database, the sign-in fails instead of requiring fewer factors.
 *
 * @param account the row that authenticated the person. The row is not read again, because the row may have been replaced since the authentication.
 * @throws Problem `second-factor.changed`
 */
export async function factorsOf(tx: EntityManager, account: Pick<User, 'id' | 'factors'>): Promise<SecondFactor[]> {
  const rows: { factor: JsonRow }[] = await tx.query(
    `SELECT to_jsonb(f) AS factor FROM second_factor f WHERE f.user_id = $1 AND f.confirmed_at IS NOT NULL ORDER BY f.id`,
    [account.id],
  );
  const seals = sealsOf(tx);
  const factors = rows
    .flatMap(({ factor }) => seals.opened(SecondFactor, factor) ?? [])
    .filter(({ userId }) => userId === account.id);
  const ids = factors.map(({ id }) => id);
  const known = account.factors ?? (seals.demandsSealOf(User) ? undefined : ids);
  if (known !== undefined && [...known].sort().join() === ids.sort().join()) return factors;
  throw factorsChanged();
}

/** Like `factorsOf`, with the current row of the account. Rejects a missing row, and a row that is older than the row that this process has already read. */
export async function factorsNow(tx: EntityManager, userId: string): Promise<SecondFactor[]> {
  const account = await findTrusted(tx, User, { id: userId });
  if (account === null) throw factorsChanged();
  return factorsOf(tx, account);
}

/** factorsChanged returns the Problem for an account whose second factors do not match the service's records. */
export function factorsChanged(): Problem {
  const detail =
    'The second factors of this account were modified outside the service. Ask an administrator to reset them.';
  return new Problem('forbidden', 'second-factor.changed', detail);
}

/** Changes the sealed list of a person's factors, in the transaction that changes the rows. */
export async function changeFactors(
  tx: EntityManager,
  userId: string,
  change: (ids: readonly string[]) => string[],
): Promise<void> {
  const account = await lockSealed(tx, User, { id: userId });
  // For an account of an earlier version, the list is created when its rows are adopted.
  if (account === null || account.factors === null) return;
  await changeSealed(tx, User, { id: userId }, { factors: change(account.factors) });
}
