import { Injectable } from '@nestjs/common';
import { HostChanges } from '../../../hosts/connections/ssh-connections.service.js';
import type { ChangeSession } from '../../../hosts/model/ssh-session.port.js';
import { Problem } from '../../../platform/errors/problem.js';
import {
  earlierLimit,
  type Limit,
  oldLimitIn,
  rolledBack,
  withNextLimited,
  withNextPermanent,
  withNextRenewed,
  withNextRestored,
  withOldLimited,
  withOldPermanent,
  withOldRestored,
  withoutOld,
} from '../key-lines/key-replacement.js';
import { AccountFiles, type WrittenFile } from './account-files.js';
import { AccountSurvey } from './account-survey.js';
import { KeyTrial } from '../custody/key-trial.js';
import { NewKey } from '../custody/new-key.js';
import { secondsOfOverlap, secondsUntilCheck, type StepName } from '../model/rotation-state.js';
import { type DoneStep, type ReadyWork, StepFailure, type StepResult, type Work } from '../model/rotation-work.js';

const SECOND_MS = 1000;

/**
 * RotationSteps performs the steps of a rotation on one account, starting with the first change. Each step brings the files to a defined state, so it can be
 * repeated after a crash at any point. When a step limits or removes a key, the session stays open until a login with the new key has been tried, because the
 * open session can undo the change without a new login.
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
      case 'check-new':
        return this.checkNew(work);
      case 'remove-old':
        return this.inSession(work, (session) => this.removeOld(session, work));
      case 'prove':
        return this.prove(work);
    }
  }

  /** Restores the files, then tests the old key. Throws StepFailure if the host rejects the old key. */
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
      throw new StepFailure(
        'BLOCKED',
        'rotation.old-refused',
        'The old key was restored, but the host does not accept it.',
      );
    });
  }

  /** Removes the time limit of the old key. */
  async keepOld(work: ReadyWork): Promise<void> {
    await this.inSession(work, (session) => this.files.change(session, work, withOldPermanent));
  }

  private async add(session: ChangeSession, work: ReadyWork): Promise<StepResult> {
    const detail = await this.putNext(session, work);
    const standings = await this.files.standings(session, work);
    if (standings.next !== 'absent') return { kind: 'done', state: 'ADDED', detail };
    if (standings.old === 'absent')
      throw new StepFailure('BLOCKED', 'rotation.key-gone', 'The old key is not in any of the files.');
    throw lineRemoved(work);
  }

  /** Adds the new key after the old key. The new key has an `expiry-time`, so that sshd stops accepting it if it is not verified in time. */
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
    // The time limit may have passed while no worker was running, so the login is tried again with a new limit. If the second login also fails, the key itself
    // is the problem.
    const renewed = await this.inSession(work, (session) => this.putNext(session, work));
    if ((await this.newKey.try(work)) === 'accepted') return verified({ ...renewed, new: 'accepted' });
    const { code } = await this.causeOfRefusal(work);
    const { detail } = await this.rollBack(work);
    const reason =
      code === LINE_REMOVED
        ? `${lineRemoved(work).message} The file was restored.`
        : 'The host does not accept the new key. The files were restored.';
    return { kind: 'failed', outcome: 'ROLLED_BACK', code, reason, detail: { ...detail, new: 'denied' } };
  }

  private async makePermanent(session: ChangeSession, work: ReadyWork): Promise<StepResult> {
    // A failed login means that the time limit has passed since the key was verified. The verify step sets a new limit.
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
    const wanted = await this.survey.limit(session, overlapSeconds);
    // A limit that a crashed attempt has set is kept, because a key that sshd has stopped accepting must not be accepted again.
    let until = wanted;
    const written = await this.files.change(session, work, (file, replacement) => {
      const edited = withOldLimited(file, replacement, wanted);
      until = earlierLimit(until, oldLimitIn(edited.bytes, replacement));
      return edited;
    });
    await this.assertNewAccepted(work, undo);
    const secondsLeft = Math.max(0, overlapSeconds - secondsBetween(until, wanted));
    const overlapEndsAt = new Date(Date.now() + secondsLeft * SECOND_MS);
    return {
      kind: 'done',
      state: 'OVERLAP',
      dueIn: secondsLeft,
      checkIn: secondsUntilCheck(overlapSeconds, secondsLeft),
      change: { oldEndsAt: until === undefined ? null : overlapEndsAt, overlapEndsAt, restoreNext: null },
      detail: { written, until, new: 'accepted' },
    };
  }

  /**
   * Logs in with the new key while the old key is still valid. If the host rejects the new key, removes the limit of the old key, so that nobody is locked out
   * when the limit expires.
   */
  private async checkNew(work: ReadyWork): Promise<StepResult> {
    const { target, rotation } = work;
    await this.assertNewAccepted(work, () => this.keepOld(work));
    // The old key may have lost its limit before a user resumed the rotation.
    if (target.restoreNext === true)
      return { kind: 'done', state: 'PROMOTED', change: { restoreNext: null }, detail: { new: 'accepted' } };
    const dueIn = secondsOfOverlap(target);
    const checkIn = secondsUntilCheck(rotation.settings.overlapSeconds, dueIn);
    return { kind: 'done', state: 'OVERLAP', dueIn, checkIn, detail: { new: 'accepted' } };
  }

  private async removeOld(session: ChangeSession, work: ReadyWork): Promise<StepResult> {
    const undo = () =>
      this.files.change(session, work, (file, replacement, { oldText }) => withOldRestored(file, replacement, oldText));
    await this.assertNewAccepted(work, undo);
    const written = await this.files.change(session, work, withoutOld);
    await this.assertNewAccepted(work, undo);
    const change = { verifiedAt: new Date(), restoreNext: null };
    return { kind: 'done', state: 'REMOVED', change, detail: { written, new: 'accepted' } };
  }

  private async prove(work: ReadyWork): Promise<StepResult> {
    const { target, rotation, old } = work;
    // If the login fails, returns to the step that removed the old key, because only that step can restore the old key.
    if ((await this.newKey.try(work)) !== 'accepted')
      return { kind: 'done', state: 'OVERLAP', detail: { new: 'denied' } };
    const login = { hostId: target.hostId, account: target.account, correlation: rotation.correlation };
    if ((await this.trial.wouldAccept(login, old.blob)) === 'accepted')
      throw new StepFailure(
        'BLOCKED',
        'rotation.old-still-accepted',
        'The host still accepts the old key: it is in another file, or a program provides it to sshd.',
      );
    await this.newKey.discardOld(work);
    return { kind: 'done', state: 'PROVEN', outcome: 'PROVEN', detail: { new: 'accepted', old: 'denied' } };
  }

  /**
   * Runs `undo` if the host denies the new key. This also applies before a change, because an earlier attempt may have made the change before it crashed. If a
   * user requested the restoration of the new key, restores the lines of the new key first. A network failure proves nothing and is rethrown.
   */
  private async assertNewAccepted(work: ReadyWork, undo?: () => Promise<unknown>): Promise<void> {
    if ((await this.newKey.try(work)) === 'accepted') return;
    if (work.target.restoreNext === true) {
      await this.inSession(work, (session) =>
        this.files.change(session, work, (file, replacement, { oldText }) =>
          withNextRestored(file, replacement, oldText),
        ),
      );
      if ((await this.newKey.try(work)) === 'accepted') return;
    }
    const cause = await this.causeOfRefusal(work);
    if (undo !== undefined) {
      await undo();
      await this.assertOldAccepted(work);
    }
    throw cause;
  }

  /** Returns the reason why the host rejects the new key, based on the files of the account. */
  private async causeOfRefusal(work: ReadyWork): Promise<StepFailure> {
    const { next } = await this.inSession(work, (session) => this.files.standings(session, work));
    if (next === 'absent') return lineRemoved(work);
    return new StepFailure('BLOCKED', 'rotation.new-key-refused', 'The host no longer accepts the new key.');
  }

  private async assertOldAccepted({ target, rotation, old }: ReadyWork): Promise<void> {
    const login = { hostId: target.hostId, account: target.account, correlation: rotation.correlation };
    if (rotation.custody === 'host' || (await this.trial.wouldAccept(login, old.blob)) === 'accepted') return;
    throw new StepFailure('CRITICAL', 'rotation.locked-out', 'The host accepts neither the new key nor the old key.');
  }

  private async inSession<T>(work: Work, run: (session: ChangeSession) => Promise<T>): Promise<T> {
    const session = await this.open(work);
    try {
      return await run(session);
    } finally {
      session.close();
    }
  }

  /** Logs in with the host's credential. If the host rejects the credential, logs in with the old key, if the service holds it. */
  private async open(work: Work): Promise<ChangeSession> {
    const { hostId } = work.target;
    const { correlation } = work.rotation;
    try {
      return await this.changes.openToChange(hostId, { correlation });
    } catch (error) {
      const isRefused = error instanceof Problem && error.code === 'host.login-refused';
      const login = isRefused ? await this.newKey.oldLogin(work) : undefined;
      if (login === undefined) throw error;
      return this.changes.openToChange(hostId, { correlation, login });
    }
  }
}

const LINE_REMOVED = 'rotation.new-line-removed';

function lineRemoved({ target }: ReadyWork): StepFailure {
  const paths = (target.plan?.files ?? []).map(({ path }) => path).join(', ');
  return new StepFailure(
    'BLOCKED',
    LINE_REMOVED,
    `The line with the new key is missing in ${paths}: another program or user removed the line. Prevent further removals, then retry to add the line again.`,
  );
}

/** Returns the seconds from one limit to another, or 0 if the limits cannot be compared. Both limits are times by the host's clock, in the same notation. */
function secondsBetween(from: Limit, to: Limit): number {
  if (from === undefined || to === undefined) return 0;
  const [start, end] = [from, to].map((limit) =>
    Date.parse(limit.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z?$/, '$1-$2-$3T$4:$5:$6Z')),
  );
  return Math.max(0, ((end ?? 0) - (start ?? 0)) / SECOND_MS) || 0;
}

function verified(detail: Record<string, unknown>): StepResult {
  return { kind: 'done', state: 'VERIFIED', change: { verifiedAt: new Date() }, detail };
}
