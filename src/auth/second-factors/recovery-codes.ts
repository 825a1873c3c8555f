import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import { secretHashOf } from '../secrets/secret-text.js';
import { RecoveryCode } from './recovery-code.entity.js';

const MANY = 10;
/** Crockford's alphabet: nothing to confuse. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Ten codes of 80 bits for the day on which the authenticator is gone. */
@Injectable()
export class RecoveryCodes {
  constructor(private readonly db: DataSource) {}

  /** New codes in place of all old ones; this is the only time that they are seen. */
  async replace(tx: EntityManager, userId: string): Promise<string[]> {
    const codes = Array.from({ length: MANY }, newCode);
    await tx.delete(RecoveryCode, { userId });
    await tx.insert(
      RecoveryCode,
      codes.map((code) => ({ id: newId(), userId, hash: secretHashOf(plain(code)) })),
    );
    return codes;
  }

  /** Uses a code up; false when it is none of the person's, or used. */
  async use(userId: string, code: string): Promise<boolean> {
    const [used]: [unknown[], number] = await this.db.query(
      `UPDATE recovery_code SET used_at = now() WHERE user_id = $1 AND hash = $2 AND used_at IS NULL RETURNING id`,
      [userId, secretHashOf(plain(code))],
    );
    return used.length === 1;
  }
}

function newCode(): string {
  const text = Array.from(randomBytes(16), (byte) => LETTERS[byte % 32]).join('');
  return (text.match(/.{4}/g) ?? []).join('-');
}

/** Hyphens and case are for reading only. */
function plain(code: string): string {
  return code.toUpperCase().replaceAll(/[^0-9A-Z]/g, '');
}
