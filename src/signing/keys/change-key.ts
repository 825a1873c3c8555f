import type { EntityManager } from 'typeorm';
import { changeSealed, lockSealed } from '../../platform/sealing/sealed-rows.js';
import { SigningKey } from './signing-key.entity.js';

type KeyChange = Partial<Pick<SigningKey, 'state' | 'version' | 'notBefore' | 'notAfter' | 'constraints'>>;

/**
 * changeKey locks a key's row, verifies the row's seal, and writes a change with the next revision. After the commit, every process uses the changed key.
 *
 * @param isApplicable whether the change is possible for the current key
 * @returns the previous key; undefined if the key does not exist or the change is not possible, in which case nothing is written
 * @throws Problem `row.not-sealed`, `row.not-written`
 */
export async function changeKey(
  tx: EntityManager,
  id: string,
  isApplicable: (key: SigningKey) => boolean,
  change: KeyChange,
): Promise<SigningKey | undefined> {
  const key = await lockSealed(tx, SigningKey, { id });
  if (key?.id !== id.toLowerCase() || !isApplicable(key)) return undefined;
  await changeSealed(tx, SigningKey, { id: key.id }, { ...change, revision: key.revision + 1 });
  return key;
}
