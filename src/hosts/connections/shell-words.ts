import type { Privilege } from '../model/host.entity.js';

/** One word of a POSIX shell command, whatever is in it. NUL cannot be passed and is refused. */
export function shellWord(text: string): string {
  if (text.includes('\0')) throw new Error('a NUL character cannot be in a command');
  return /^[A-Za-z0-9_/.:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Who {
  readonly loginUser: string;
  readonly privilege: Privilege;
  /** Account that the script runs as; absent: the one that is logged in. */
  readonly as?: string;
}

/**
 * The command line that runs a POSIX shell script with arguments ($1, $2, …). As another account it is run with `runuser` or `su` by root, and
 * with `sudo -n` otherwise. Undefined when the login may not become that account.
 */
export function scriptCommand(script: string, args: readonly string[], who: Who): string | undefined {
  const words = ['sh', '-c', script, 'sealwright', ...args].map(shellWord).join(' ');
  const { as, loginUser, privilege } = who;
  if (as === undefined || as === loginUser) return words;
  const account = shellWord(as);
  if (privilege === 'sudo') return `sudo -n -H -u ${account} -- ${words}`;
  if (privilege === 'none') return undefined;
  if (as === 'root') return words;
  const choice = `if command -v runuser >/dev/null 2>&1; then exec runuser -u ${account} -- ${words}; fi; exec su -s /bin/sh ${account} -c ${shellWord(words)}`;
  return `sh -c ${shellWord(choice)}`;
}
