/** UnixAccount is the account of a login, with the values for the tokens in AuthorizedKeysFile. */
export interface UnixAccount {
  readonly name: string;
  readonly uid: number;
  readonly home: string;
}

/** KeyFileSettings contains the sshd settings for the keys of one account. */
export interface KeyFileSettings {
  /** Configured patterns of AuthorizedKeysFile. */
  readonly patterns: readonly string[];
  /** AuthorizedKeysCommand, if set. The files then do not contain all keys. */
  readonly command: string | undefined;
  readonly trustedUserCaKeys: string | undefined;
  readonly revokedKeys: string | undefined;
  /** `high`: reported by sshd (`sshd -T -C …`). `low`: parsed from the configuration, with all Match blocks combined. */
  readonly confidence: 'high' | 'low';
}

/** Defaults of sshd (sshd_config(5)). */
const DEFAULTS = ['.ssh/authorized_keys', '.ssh/authorized_keys2'];

/** readEffective parses the output of `sshd -T -C user=…`. */
export function readEffective(output: string): KeyFileSettings {
  return { ...settingsOf(directivesOf(output)), confidence: 'high' };
}

/**
 * readConfigured parses sshd_config files without evaluating Match blocks. The result contains every configured file, because a removed key must be absent
 * from every file that sshd may use.
 */
export function readConfigured(text: string): KeyFileSettings {
  const directives = directivesOf(text);
  return {
    ...settingsOf(directives),
    patterns: [...new Set([...DEFAULTS, ...patternsOf(directives)])],
    confidence: 'low',
  };
}

/** keyFilesOf returns the files that sshd opens for an account, with tokens expanded and relative paths resolved against its home. */
export function keyFilesOf({ patterns }: KeyFileSettings, account: UnixAccount): string[] {
  const tokens: Record<string, string> = { h: account.home, u: account.name, U: String(account.uid), '%': '%' };
  const paths = patterns
    .map((pattern) => pattern.replaceAll(/%([huU%])/g, (_, token: string) => tokens[token] ?? ''))
    .map((path) => (path.startsWith('/') ? path : `${account.home}/${path}`));
  return [...new Set(paths)];
}

type Directive = readonly [name: string, values: string[]];

function directivesOf(text: string): Directive[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [name = ''] = /^\w+/.exec(line) ?? [];
      return [name.toLowerCase(), name === '' ? [] : wordsOf(line.slice(name.length).replace(/^[\s=]+/, ''))];
    });
}

function wordsOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

function settingsOf(directives: Directive[]): Omit<KeyFileSettings, 'confidence'> {
  const first = (name: string) => {
    const value = directives.find(([found]) => found === name)?.[1].join(' ');
    return value === 'none' ? undefined : value;
  };
  return {
    patterns: patternsOf(directives),
    command: first('authorizedkeyscommand'),
    trustedUserCaKeys: first('trustedusercakeys'),
    revokedKeys: first('revokedkeys'),
  };
}

function patternsOf(directives: Directive[]): string[] {
  return directives
    .filter(([name]) => name === 'authorizedkeysfile')
    .flatMap(([, values]) => values)
    .filter((value) => value !== 'none');
}

/**
 * FIND_SSHD is a POSIX shell script. In `$config`, the script stores the configuration path of the sshd that accepted this login. `settings_for ACCOUNT` prints
 * the effective settings of the sshd for a login of the account from the same client, or nothing if the settings are not available. The script reads the
 * options of sshd from the ancestor processes, and otherwise finds sshd on PATH. The script also reads SSH_CONNECTION from the ancestor processes, because sudo
 * removes SSH_CONNECTION. Match LocalAddress and LocalPort need the local address and port, which old versions do not support.
 */
export const FIND_SSHD = `
LC_ALL=C; export LC_ALL; PATH="$PATH:/usr/sbin:/usr/local/sbin:/sbin"; export PATH
line=; at=$$
while [ "$at" -gt 1 ] 2>/dev/null && [ -r "/proc/$at/cmdline" ]; do
  [ -n "$SSH_CONNECTION" ] || SSH_CONNECTION=$(tr '\\0' '\\n' < "/proc/$at/environ" 2>/dev/null | sed -n 's/^SSH_CONNECTION=//p')
  line=$(tr '\\0' ' ' < "/proc/$at/cmdline")
  case $line in 'sshd: '*'[listener]'*) break;; esac
  line=; at=$(sed 's/.*) //' "/proc/$at/stat" | cut -d' ' -f2)
done
line=\${line#sshd: }; line=\${line%%'[listener]'*}
[ -n "$line" ] || line=$(command -v sshd)
config=/etc/ssh/sshd_config; take=
for word in $line; do [ -n "$take" ] && config=$word; take=; [ "$word" = -f ] && take=yes; done
from=\${SSH_CONNECTION%% *}; from=\${from:-127.0.0.1}; here=\${SSH_CONNECTION#* * }
case $here in *' '*) here=",laddr=\${here% *},lport=\${here#* }";; *) here=;; esac
settings_for() {
  \${line:-false} -T -C "user=$1,host=$from,addr=$from$here" 2>/dev/null || \${line:-false} -T -C "user=$1,host=$from,addr=$from" 2>/dev/null
}
`;
