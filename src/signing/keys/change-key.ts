import type { EntityManager } from 'typeorm';
import { changeSealed, lockSealed } from '../../platform/sealing/sealed-rows.js';
import { SigningKey } from './signing-key.entity.js';

type KeyChange = Partial<Pick<SigningKey, 'state' | 'version' | 'notBefore' | 'notAfter' | 'constraints'>>;

/**
 * changeKey locks the row of a key, verifies its seal, and writes a change with the next revision, from which on every process judges by it.
 *
 * @param isApplicable whether the change suits the key as it is
 * @returns the key as it was; undefined if there is none or the change does not suit it, and nothing is written
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
