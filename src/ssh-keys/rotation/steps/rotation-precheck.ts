import { Injectable } from '@nestjs/common';
import { generateKeyPairSync } from 'node:crypto';
import { DataSource } from 'typeorm';
import { SshConnections } from '../../../hosts/connections/ssh-connections.service.js';
import { Host } from '../../../hosts/model/host.entity.js';
import { readLines } from '../../../platform/ssh/authorized-keys-file.js';
import { optionsOf, withNextLimited, withNextPermanent, withoutOld } from '../key-lines/key-replacement.js';
import { showsWhole, unifiedDiff } from '../key-lines/unified-diff.js';
import { readOptions } from '../../../formats/ssh/key-line.js';
import { newEd25519Pair } from '../../../formats/ssh/key-pair.js';
import { type SshPublicKey, sshPublicKeyOf } from '../../../formats/ssh/public-key.js';
import { AccountSurvey, type KeyFile, managerOf, type Survey } from './account-survey.js';
import { KeyTrial } from '../custody/key-trial.js';
import { NewKey } from '../custody/new-key.js';
import type { TargetFile, TargetPlan } from '../model/rotation-target.entity.js';
import { replacementOf, StepFailure, type Work } from '../model/rotation-work.js';

/** Placeholder for the time of a limit, which is not known until the limit is set. */
const TIME_PLACEHOLDER = '20000101000000Z';

export interface Checked {
  readonly plan: TargetPlan;
  /** Current content of the files, as a JSON object that maps paths to base64. */
  readonly snapshot: Buffer;
}

/** RotationPrecheck checks a target before any change: it plans the changes, rejects targets with obstacles, and reads the files for the snapshot. */
@Injectable()
export class RotationPrecheck {
  constructor(
    private readonly db: DataSource,
    private readonly connections: SshConnections,
    private readonly survey: AccountSurvey,
    private readonly trial: KeyTrial,
    private readonly newKey: NewKey,
  ) {}

  async check(work: Work): Promise<Checked> {
    const { old } = work;
    await this.assertManaged(work);
    const survey = await this.look(work);
    const files = survey.files.filter(({ content }) => optionsOf(content, old.blob).size > 0);
    assertPossible(files, survey, work);
    await this.assertOldAccepted(work, files);
    const plan = this.plan(work, files, survey);
    const bytes = Object.fromEntries(files.map(({ path, content }) => [path, content.toString('base64')]));
    return { plan, snapshot: Buffer.from(JSON.stringify(bytes)) };
  }

  private async look({ target, rotation }: Work): Promise<Survey> {
    const session = await this.connections.open(target.hostId, { correlation: rotation.correlation });
    try {
      return await this.survey.look(session, target.account);
    } finally {
      session.close();
    }
  }

  private async assertManaged(work: Work): Promise<void> {
    const host = await this.db.manager.findOneBy(Host, { id: work.target.hostId });
    if (host === null) throw refusal('host.missing', 'The host no longer exists.');
    if (host.managementMode !== 'managed')
      throw refusal(
        'rotation.not-managed',
        'The host is only monitored. Set its managementMode to managed to allow changes.',
      );
    if (work.rotation.custody !== 'service' && (await this.newKey.isOwnLogin(work)))
      throw refusal(
        'rotation.own-login',
        'The service logs in with this key, so the service must also hold the new key. Use another custody.',
      );
  }

  /**
   * Asserts that the host accepts the old key for a login from the service, because the service could otherwise not test the old key later. A key held by a
   * host is tested from that host.
   */
  private async assertOldAccepted(work: Work, files: readonly KeyFile[]): Promise<void> {
    const { target, rotation, old } = work;
    if (rotation.custody === 'host') return this.newKey.assertHeld(work);
    const login = { hostId: target.hostId, account: target.account, correlation: rotation.correlation };
    if ((await this.trial.wouldAccept(login, old.blob)) === 'accepted') return;
    const loose = [...new Set(files.flatMap((file) => file.loose))];
    const cause =
      loose.length > 0
        ? `sshd ignores files that other accounts can change (StrictModes), and ${loose.join(', ')}`
        : 'an option on its line or a file mode prevents the login';
    throw refusal('rotation.old-refused', `The host does not accept the old key from this service: ${cause}.`);
  }

  private plan({ rotation, old, next }: Work, files: readonly KeyFile[], survey: Survey): TargetPlan {
    const planned = files.map(({ path, as, content, sha256 }): TargetFile => {
      const lines = readLines(content).filter(({ key }) => key?.blob.equals(old.blob));
      return {
        path,
        as,
        sha256,
        originals: [...optionsOf(content, old.blob)],
        oldText: lines[0]?.key?.rest ?? '',
      };
    });
    const placeholder = placeholderOf(rotation);
    const until = survey.expiry === 'none' ? undefined : TIME_PLACEHOLDER;
    const shown = next ?? Object.assign({}, old, placeholder, { comment: null });
    const diffs = planned.map((file, i) => {
      const before = files[i]?.content ?? Buffer.alloc(0);
      const replacement = replacementOf({ rotation, old, next: shown } as never, file);
      const added = withNextLimited(before, replacement, until);
      const result = withoutOld(withNextPermanent(added.bytes, replacement).bytes, replacement).bytes;
      const named = (diff: string) =>
        next === undefined ? diff.replaceAll(placeholder.blob.toString('base64'), '<new key>') : diff;
      const adds = named(added.diff).replaceAll(TIME_PLACEHOLDER, '<time>');
      return { path: file.path, adds, result: named(wholeChange(file.path, before, result)) };
    });
    return { files: planned, diffs, confidence: survey.settings.confidence, warnings: warningsOf(survey) };
  }
}

/**
 * Returns the diff that approvers see. Throws StepFailure if the diff is incomplete, so that applying the diff to the old file would not yield the new file.
 */
function wholeChange(path: string, before: Buffer, after: Buffer): string {
  const diff = unifiedDiff(path, before, after);
  if (showsWhole(before, diff, after)) return diff;
  throw refusal('rotation.not-shown', `The change to ${path} is too large to show in full.`);
}

/** Returns a placeholder of the right type for a key that has not been generated yet. */
function placeholderOf({ custody }: Work['rotation']): SshPublicKey {
  if (custody !== 'hsm') return newEd25519Pair('').publicKey;
  return sshPublicKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
}

function assertPossible(files: readonly KeyFile[], survey: Survey, { rotation, old, next }: Work): void {
  if (files.length === 0) throw refusal('rotation.key-gone', 'The old key is not in any of the files that sshd reads.');
  for (const { path, content, obstacles } of files) {
    if (obstacles.length > 0) throw refusal('rotation.obstacle', `${path} ${obstacles.join(', ')}.`);
    const manager = managerOf(content);
    if (manager !== undefined && !rotation.settings.ignoreManagers)
      throw refusal(
        'rotation.managed-elsewhere',
        `${path} contains "${manager}": configuration management would undo the change.`,
      );
    const isAuthority = [...optionsOf(content, old.blob)].some((options) =>
      readOptions(options).some(({ name }) => name === 'cert-authority'),
    );
    if (isAuthority) throw refusal('rotation.cert-authority', `${path} uses the key as a certificate authority.`);
  }
  if (next !== undefined && survey.files.some(({ content }) => optionsOf(content, next.blob).size > 0))
    throw refusal('rotation.new-key-present', 'The new key is already in one of the files.');
}

function warningsOf({ settings, expiry }: Survey): string[] {
  return [
    ...(expiry === 'none'
      ? ['this sshd does not support expiry-time (requires OpenSSH 7.7): only the service removes the key']
      : []),
    ...(settings.confidence === 'low'
      ? ['sshd could not be queried for the files it reads; its configuration file was read instead']
      : []),
    ...(settings.command === undefined ? [] : ['AuthorizedKeysCommand provides keys to sshd as well']),
    ...(settings.trustedUserCaKeys === undefined ? [] : ['certificates grant access as well (TrustedUserCAKeys)']),
  ];
}

function refusal(code: string, reason: string): StepFailure {
  return new StepFailure('FAILED_PRECHECK', code, reason);
}
