import type { SshSession } from '../../../hosts/model/ssh-session.port.js';
import { Problem } from '../../../platform/errors/problem.js';
import {
  type UnixAccount,
  type KeyFileSettings,
  readConfigured,
  readEffective,
  FIND_SSHD,
} from '../../../platform/ssh/key-files.js';
import { StepFailure } from '../model/rotation-work.js';

/**
 * Argument: $1 account. Prints the host's clock, the passwd entry of the account, and sshd's settings for the keys of the account. The settings are the
 * effective settings for a login from the service's address. The settings are queried from the sshd that accepted this session. That sshd is found among the
 * shell's ancestor processes, and is run with its own command line. If the query fails, the script prints the text of the configuration instead. Requires a
 * POSIX shell.
 */
const ACCOUNT_SURVEY = `
${FIND_SSHD}
date -u +%s
getent passwd "$1" 2>/dev/null || grep "^$1:" /etc/passwd || echo
set -f
effective=$(settings_for "$1")
if [ -n "$effective" ]; then echo effective; printf '%s\\n' "$effective"
else
  set +f; echo configured
  cat "$config" /etc/ssh/sshd_config.d/*.conf 2>/dev/null
fi
exit 0
`;

export interface SshdSettings {
  readonly settings: KeyFileSettings;
  readonly account: UnixAccount;
}

/** Reads the settings of the host's sshd for the keys of an account, without changing anything. Throws StepFailure `rotation.no-account`. */
export async function askSshd(session: SshSession, name: string): Promise<SshdSettings> {
  const { stdout } = await asRoot(session, name, (as) => session.run(ACCOUNT_SURVEY, { args: [name], as }));
  const [, passwd = '', kind, ...rest] = stdout.toString().split('\n');
  const [, , uid, , , home = ''] = passwd.split(':');
  if (home === '')
    throw new StepFailure('FAILED_PRECHECK', 'rotation.no-account', `Account ${name} does not exist on the host.`);
  const text = rest.join('\n');
  const settings = kind === 'effective' ? readEffective(text) : readConfigured(text);
  return { settings, account: { name, uid: Number(uid), home } };
}

/** Runs a script as root if the login permits it, otherwise as the account, otherwise as the login account. */
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
