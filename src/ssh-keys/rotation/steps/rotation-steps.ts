import { Injectable } from '@nestjs/common';
import { HostChanges } from '../../../hosts/connections/ssh-connections.service.js';
import type { ChangeSession } from '../../../hosts/model/ssh-session.port.js';
import {
  type Limit,
  rolledBack,
  withNextLimited,
  withNextPermanent,
  withNextRenewed,
  withOldLimited,
  withOldPermanent,
  withOldRestored,
  withoutOld,
} from '../../authorized-keys/key-replacement.js';
import { AccountFiles, type WrittenFile } from './account-files.js';
import { AccountSurvey } from './account-survey.js';
import { KeyTrial } from '../custody/key-trial.js';
import { NewKey } from '../custody/new-key.js';
import type { StepName } from '../model/rotation-state.js';
import { type DoneStep, type ReadyWork, StepFailure, type StepResult, type Work } from '../model/rotation-work.js';

const SECOND_MS = 1000;

/**
 * The steps of a rotation on one account, from the first change on. Each one brings the files to a certain state, so it may be repeated after a
 * crash wherever it stopped. Whenever a key is limited or removed, the session that did it stays open until a login with the new key was
 * tried: that session can undo the change without any key.
 */
@Injectable()
export class RotationSteps {
  constructor(
    private readonly changes: HostChanges,
    private readonly files: AccountFiles,
    private readonly survey: AccountSurvey,
    private readonly trial: KeyTrial,
    private readonly newKey: NewKey,
  ) {}

  perform(step: Exclude<StepName, 'precheck' | 'roll-back'>, work: ReadyWork): Promise<StepResult> {
    switch (step) {
      case 'add':
        return this.inSession(work, (session) => this.add(session, work));
      case 'verify':
        return this.verify(work);
      case 'make-permanent':
        return this.inSession(work, (session) => this.makePermanent(session, work));
      case 'promote':
        return this.promote(work);
      case 'limit-old':
        return this.inSession(work, (session) => this.limitOld(session, work));
      case 'remove-old':
        return this.inSession(work, (session) => this.removeOld(session, work));
      case 'prove':
        return this.prove(work);
    }
  }

  /** Restores the files. The host must accept the old key again before the target counts as rolled back. */
  async rollBack(work: Work): Promise<DoneStep> {
    const { target, rotation, old, next } = work;
    const result = { kind: 'done', state: target.state, outcome: 'ROLLED_BACK' } as const;
    const leftWithHolder = await this.newKey.abandon(work);
    if (target.plan === null || next === undefined) return result;
    return this.inSession(work, async (session) => {
      const written = await this.files.change(session, { ...work, next }, rolledBack);
      const login = { hostId: target.hostId, account: target.account, correlation: rotation.correlation };
      const verdict = rotation.custody === 'host' ? 'not asked' : await this.trial.wouldAccept(login, old.blob);
      if (verdict !== 'denied') return { ...result, detail: { written, old: verdict, leftWithHolder } };
      throw new StepFailure('BLOCKED', 'rotation.old-refused', 'The old key is back, and the host does not accept it.');
    });
  }

  private async add(session: ChangeSession, work: ReadyWork): Promise<StepResult> {
    const detail = await this.putNext(session, work);
    const standings = await this.files.standings(session, work);
    if (standings.next === 'absent')
      throw new StepFailure('BLOCKED', 'rotation.key-gone', 'The old key is in none of the files any more.');
    return { kind: 'done', state: 'ADDED', detail };
  }

  /** Adds the new key behind the old one, with a time limit: sshd ends it if it is not verified. */
  private async putNext(session: ChangeSession, work: ReadyWork): Promise<{ written: WrittenFile[]; until: Limit }> {
    const until = await this.survey.limit(session, work.rotation.settings.verifySeconds);
    const written = await this.files.change(session, work, (file, replacement) => {
      const renewed = withNextRenewed(file, replacement, until);
      const added = withNextLimited(renewed.bytes, replacement, until);
      return { bytes: added.bytes, diff: renewed.diff + added.diff };
    });
    return { written, until };
  }

  private async verify(work: ReadyWork): Promise<StepResult> {
    if ((await this.newKey.try(work)) === 'accepted') return verified({ new: 'accepted' });
    // The time limit may have passed while no worker was running: once more with a new limit. If that fails, it is the key's fault.
    const renewed = await this.inSession(work, (session) => this.putNext(session, work));
    if ((await this.newKey.try(work)) === 'accepted') return verified({ ...renewed, new: 'accepted' });
    const { detail } = await this.rollBack(work);
    return {
      kind: 'failed',
      outcome: 'ROLLED_BACK',
      code: 'rotation.new-key-refused',
      reason: 'The host does not accept the new key; everything is as before.',
      detail: { ...detail, new: 'denied' },
    };
  }

  private async makePermanent(session: ChangeSession, work: ReadyWork): Promise<StepResult> {
    // The time limit has passed since the key was verified: the verify step sets a new one.
    if ((await this.newKey.try(work)) !== 'accepted')
      return { kind: 'done', state: 'ADDED', detail: { new: 'denied' } };
    const written = await this.files.change(session, work, withNextPermanent);
    await this.assertNewAccepted(work);
    return { kind: 'done', state: 'PERMANENT', dueIn: null, detail: { written, new: 'accepted' } };
  }

  private async promote(work: ReadyWork): Promise<StepResult> {
    await this.newKey.handOver(work);
    await this.assertNewAccepted(work);
    return { kind: 'done', state: 'PROMOTED', detail: { new: 'accepted' } };
  }

  private async limitOld(session: ChangeSession, work: ReadyWork): Promise<StepResult> {
    const { overlapSeconds } = work.rotation.settings;
    const undo = () => this.files.change(session, work, withOldPermanent);
    await this.assertNewAccepted(work, undo);
    const until = await this.survey.limit(session, overlapSeconds);
    const written = await this.files.change(session, work, (file, replacement) =>
      withOldLimited(file, replacement, until),
    );
    await this.assertNewAccepted(work, undo);
    const oldEndsAt = until === undefined ? null : new Date(Date.now() + overlapSeconds * SECOND_MS);
    return {
      kind: 'done',
      state: 'OVERLAP',
      dueIn: overlapSeconds,
      change: { oldEndsAt },
      detail: { written, until, new: 'accepted' },
    };
  }

  private async removeOld(session: ChangeSession, work: ReadyWork): Promise<StepResult> {
    const undo = () =>
      this.files.change(session, work, (file, replacement, { oldText }) => withOldRestored(file, replacement, oldText));
    await this.assertNewAccepted(work, undo);
    const written = await this.files.change(session, work, withoutOld);
    await this.assertNewAccepted(work, undo);
    return { kind: 'done', state: 'REMOVED', change: { verifiedAt: new Date() }, detail: { written, new: 'accepted' } };
  }

  private async prove(work: ReadyWork): Promise<StepResult> {
    const { target, rotation, old } = work;
    // The step that removed the old key is the one that can put it back.
    if ((await this.newKey.try(work)) !== 'accepted')
      return { kind: 'done', state: 'OVERLAP', detail: { new: 'denied' } };
    const login = { hostId: target.hostId, account: target.account, correlation: rotation.correlation };
    if ((await this.trial.wouldAccept(login, old.blob)) === 'accepted')
      throw new StepFailure(
        'BLOCKED',
        'rotation.old-still-accepted',
        'The host still accepts the old key: it stands somewhere else, or a program tells sshd so.',
      );
    await this.newKey.discardOld(work);
    return { kind: 'done', state: 'PROVEN', outcome: 'PROVEN', detail: { new: 'accepted', old: 'denied' } };
  }

  /**
   * Runs `undo` when the host denies the new key; before a change too, since an earlier attempt may have made it and died. A fault of the
   * network proves nothing, and is thrown as it is.
   */
  private async assertNewAccepted(work: ReadyWork, undo?: () => Promise<unknown>): Promise<void> {
    if ((await this.newKey.try(work)) === 'accepted') return;
    if (undo !== undefined) {
      await undo();
      await this.assertOldAccepted(work);
    }
    throw new StepFailure('BLOCKED', 'rotation.new-key-refused', 'The host does not accept the new key any more.');
  }

  private async assertOldAccepted({ target, rotation, old }: ReadyWork): Promise<void> {
    const login = { hostId: target.hostId, account: target.account, correlation: rotation.correlation };
    if (rotation.custody === 'host' || (await this.trial.wouldAccept(login, old.blob)) === 'accepted') return;
    throw new StepFailure('CRITICAL', 'rotation.locked-out', 'The host accepts neither the new key nor the old one.');
  }

  private async inSession<T>(work: Work, run: (session: ChangeSession) => Promise<T>): Promise<T> {
    const session = await this.changes.openToChange(work.target.hostId, { correlation: work.rotation.correlation });
    try {
      return await run(session);
    } finally {
      session.close();
    }
  }
}

function verified(detail: Record<string, unknown>): StepResult {
  return { kind: 'done', state: 'VERIFIED', change: { verifiedAt: new Date() }, detail };
}
