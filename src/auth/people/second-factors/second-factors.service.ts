import { changeSealed, insertSealed } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { generateSecret, generateURI } from 'otplib';
import { DataSource, type EntityManager, IsNull, Not } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { sealsOf } from '../../../platform/sealing/row-seals.js';
import { LastingSeal } from '../../../platform/sealing/lasting-seal.js';
import type { Actor, Caller } from '../../../access/caller.js';
import type { Origin } from '../../../platform/http/origin.js';
import { AccountNotices } from '../../model/account-notices.js';
import { RecoveryCode, SecondFactor } from './second-factor.entity.js';
import { changeFactors, factorsNow } from './factor-list.js';
import { RecoveryCodes } from './recovery-codes.js';
import { timeStepOf, TOTP_CODE } from './totp.js';

const SEAL = 'totp seed';
export const SEALED_SEED = { table: 'second_factor', column: 'seed', purpose: SEAL, place: 't.id::text' } as const;
const MAX_AUTHENTICATORS = 5;

/**
 * SecondFactorsService manages second factors: authenticator apps, and the passkeys that PasskeysService adds. The seeds of apps are sealed, and no code is
 * accepted twice.
 */
@Injectable()
export class SecondFactorsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly seal: LastingSeal,
    private readonly recovery: RecoveryCodes,
    private readonly notices: AccountNotices,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('second-factor');
  }

  /** Creates a secret for an app. The app becomes active once `confirm` has verified a code. */
  async begin(caller: Caller, name: string): Promise<{ id: string; secret: string; uri: string }> {
    const id = newId();
    const secret = generateSecret();
    await this.assertBelowLimit(caller.id);
    await this.db.manager.delete(SecondFactor, { userId: caller.id, confirmedAt: IsNull() });
    const seed = await this.seal.close(SEAL, id, Buffer.from(secret));
    await insertSealed(this.db.manager, SecondFactor, { id, userId: caller.id, name, seed });
    return { id, secret, uri: generateURI({ issuer: 'Sealwright', label: caller.name, secret }) };
  }

  /** Activates an authenticator app. @returns recovery codes if the app is the first factor; otherwise an empty list */
  async confirm(caller: Caller, id: string, code: string): Promise<string[]> {
    const factor = await this.db.manager.findOneBy(SecondFactor, { id, userId: caller.id, confirmedAt: IsNull() });
    if (factor === null) throw missing('second-factor');
    if (!(await this.takes(factor, code))) {
      throw new Problem(
        'refused',
        'second-factor.wrong-code',
        'This code is not the current code of your authenticator app. Enter the code that the app shows now.',
      );
    }
    return this.db.transaction(async (tx) => {
      const change = { confirmedAt: new Date() };
      const confirmed = await changeSealed(tx, SecondFactor, { id, userId: caller.id, confirmedAt: IsNull() }, change);
      if (confirmed !== 1) throw missing('second-factor');
      return this.added(tx, caller, id);
    });
  }

  /** Adds a factor that has been verified. @returns recovery codes if the added factor is the person's first factor; otherwise an empty list */
  async add(caller: Caller, factor: Partial<SecondFactor> & { id: string }): Promise<string[]> {
    return this.db.transaction(async (tx) => {
      await insertSealed(tx, SecondFactor, factor);
      return this.added(tx, caller, factor.id);
    });
  }

  /** Returns the person's active factors. Throws if the person has the maximum number of factors. */
  async assertBelowLimit(userId: string): Promise<SecondFactor[]> {
    const known = await this.listOf(userId);
    if (known.length < MAX_AUTHENTICATORS) return known;
    throw new Problem(
      'conflict',
      'second-factor.too-many',
      `You have ${MAX_AUTHENTICATORS} authenticators, which is the limit. Remove one before you add another.`,
    );
  }

  /** Returns the active factors of a person. */
  async listOf(userId: string): Promise<SecondFactor[]> {
    return factorsNow(this.db.manager, userId);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.delete(SecondFactor, { id, userId: caller.id });
      if (affected !== 1) throw missing('second-factor');
      await changeFactors(tx, caller.id, (ids) => ids.filter((one) => one !== id));
      await this.record(tx, caller, 'second-factor.removed', id, accountEditIn(tx, caller));
      await this.notices.accountChanged(
        tx,
        caller.name,
        'An authenticator was removed from your account',
        caller.origin,
      );
    });
  }

  /** Removes all factors and recovery codes of a user who has lost the factors. Until the user adds a factor, the password is sufficient to sign in. */
  async reset(by: Actor & { origin: Origin }, user: { id: string; email: string }): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.delete(SecondFactor, { userId: user.id });
      await tx.delete(RecoveryCode, { userId: user.id });
      await changeFactors(tx, user.id, () => []);
      await this.record(tx, by, 'second-factor.reset', user.id);
      await this.notices.accountChanged(tx, user.email, 'Your authenticators were removed', by.origin);
    });
  }

  /** Replaces the recovery codes. The old codes are invalidated. */
  async newRecoveryCodes(caller: Caller): Promise<string[]> {
    return this.db.transaction(async (tx) => {
      const codes = await this.recovery.replace(tx, caller.id);
      await this.record(tx, caller, 'recovery-codes.replaced', caller.id);
      await this.notices.accountChanged(tx, caller.name, 'Your recovery codes were replaced', caller.origin);
      return codes;
    });
  }

  /** Reports whether the code is the current, unused code of an authenticator app among the factors. */
  async isCodeOf(factors: readonly SecondFactor[], code: string): Promise<boolean> {
    for (const factor of factors) if (await this.takes(factor, code)) return true;
    return false;
  }

  /** Verifies a code and stores its time step by compare-and-set, so that only one of several concurrent uses succeeds (RFC 6238 section 5.2). */
  private async takes({ id, seed }: SecondFactor, code: string): Promise<boolean> {
    if (seed === null || !TOTP_CODE.test(code)) return false;
    const step = timeStepOf(code, (await this.seal.open(SEAL, id, seed)).toString());
    if (step === undefined) return false;
    const [taken]: [unknown[], number] = await this.db.query(
      `UPDATE second_factor SET last_step = $2, last_used_at = now() WHERE id = $1 AND last_step < $2 RETURNING id`,
      [id, step],
    );
    return taken.length === 1;
  }

  private async added(tx: EntityManager, caller: Caller, id: string): Promise<string[]> {
    await changeFactors(tx, caller.id, (ids) => [...ids, id].sort());
    await this.record(tx, caller, 'second-factor.added', id, accountEditIn(tx, caller));
    await this.notices.accountChanged(tx, caller.name, 'An authenticator was added to your account', caller.origin);
    const isFirst = (await tx.countBy(SecondFactor, { userId: caller.id, confirmedAt: Not(IsNull()) })) === 1;
    return isFirst ? this.recovery.replace(tx, caller.id) : [];
  }
}

/** accountEditIn returns the edit counter of the account whose factors the transaction changed, so that an earlier row of the account is detected. */
function accountEditIn(tx: EntityManager, { id }: Caller): Record<string, unknown> {
  return { accountEdit: sealsOf(tx).notedEdit(tx, id) };
}
