import { consumeSealed, insertSealed } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { newId } from '../../../platform/database/new-id.js';
import { secretHashOf } from '../../model/secret-text.js';
import { RecoveryCode } from './second-factor.entity.js';

const CODE_COUNT = 10;
/** Crockford's base32 alphabet, without look-alikes. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** RecoveryCodes manages recovery codes for people who lost their authenticator: ten codes of 80 bits for each person. */
@Injectable()
export class RecoveryCodes {
  constructor(private readonly db: DataSource) {}

  /** Replaces all codes of a person. The returned codes cannot be retrieved again. */
  async replace(tx: EntityManager, userId: string): Promise<string[]> {
    const codes = Array.from({ length: CODE_COUNT }, newCode);
    await tx.delete(RecoveryCode, { userId });
    const rows = codes.map((code) => ({ id: newId(), userId, hash: secretHashOf(plain(code)) }));
    await insertSealed(tx, RecoveryCode, ...rows);
    return codes;
  }

  /** Consumes a code. Returns false if the code does not belong to the person or was used before. */
  async use(userId: string, code: string): Promise<boolean> {
    const where = 't.user_id = $1 AND t.hash = $2 AND t.used_at IS NULL';
    const hash = secretHashOf(plain(code));
    const order = { where, set: 'used_at = now()', values: [userId, hash], is: { userId, hash } };
    return (await consumeSealed(this.db.manager, RecoveryCode, order)).length === 1;
  }
}

function newCode(): string {
  const text = Array.from(randomBytes(16), (byte) => LETTERS[byte % 32]).join('');
  return (text.match(/.{4}/g) ?? []).join('-');
}

/** Returns the code without hyphens, in upper case. */
function plain(code: string): string {
  return code.toUpperCase().replaceAll(/[^0-9A-Z]/g, '');
}
