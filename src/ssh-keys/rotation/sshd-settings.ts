import type { SshSession } from '../../hosts/connections/ssh-session.port.js';
import { Problem } from '../../platform/errors/problem.js';
import { type UnixAccount, type KeyFileSettings, readConfigured, readEffective } from '../../platform/ssh/key-files.js';
import { ACCOUNT_SURVEY } from './survey-scripts.js';
import { StepFailure } from './rotation-work.js';

export interface SshdSettings {
  readonly settings: KeyFileSettings;
  readonly account: UnixAccount;
}

/** What sshd of the host does with keys of an account, asked of that sshd. Changes nothing. Throws StepFailure `rotation.no-account`. */
export async function askSshd(session: SshSession, name: string): Promise<SshdSettings> {
  const { stdout } = await asRoot(session, name, (as) => session.run(ACCOUNT_SURVEY, { args: [name], as }));
  const [, passwd = '', kind, ...rest] = stdout.toString().split('\n');
  const [, , uid, , , home = ''] = passwd.split(':');
  if (home === '') throw new StepFailure('FAILED_PRECHECK', 'rotation.no-account', `There is no account ${name}.`);
  const text = rest.join('\n');
  const settings = kind === 'effective' ? readEffective(text) : readConfigured(text);
  return { settings, account: { name, uid: Number(uid), home } };
}

/** As root where the login may, else as the account, else as the login itself. */
async function asRoot<T>(session: SshSession, account: string, run: (as?: string) => Promise<T>): Promise<T> {
  for (const as of ['root', account]) {
    try {
      return await run(as);
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'host.privilege')) throw error;
    }
  }
  return run();
}
