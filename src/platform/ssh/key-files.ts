/** Who logs in, as the tokens of AuthorizedKeysFile see them. */
export interface UnixAccount {
  readonly name: string;
  readonly uid: number;
  readonly home: string;
}

/** Settings of sshd for the keys of one account. */
export interface KeyFileSettings {
  /** Patterns of AuthorizedKeysFile as they are configured. */
  readonly patterns: readonly string[];
  /** Set when sshd gets keys from a program (AuthorizedKeysCommand): the files are then not all of them. */
  readonly command: string | undefined;
  readonly trustedUserCaKeys: string | undefined;
  readonly revokedKeys: string | undefined;
  /** `high`: read from sshd itself (`sshd -T -C …`). `low`: read out of the configuration, every Match block taken together. */
  readonly confidence: 'high' | 'low';
}

/** sshd's default when nothing is configured (sshd_config(5)). */
const DEFAULTS = ['.ssh/authorized_keys', '.ssh/authorized_keys2'];

/** Reads what `sshd -T -C user=…` printed. */
export function readEffective(output: string): KeyFileSettings {
  return { ...settingsOf(directivesOf(output)), confidence: 'high' };
}

/**
 * Reads sshd_config files that could only be read, not evaluated. A key that is removed must be gone from every file that
 * some Match block may name, so all of them count.
 */
export function readConfigured(text: string): KeyFileSettings {
  const directives = directivesOf(text);
  return {
    ...settingsOf(directives),
    patterns: [...new Set([...DEFAULTS, ...patternsOf(directives)])],
    confidence: 'low',
  };
}

/** The files that sshd opens for an account: tokens filled in, relative ones under its home. */
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
 * POSIX shell. Puts the configuration file of the sshd that let us in into `$config`. `settings_for ACCOUNT` prints what that sshd, with the options that
 * it was started with (found among our ancestors, else the one of the path), does for a login of the account from where we came from; nothing where it does
 * not tell. sudo takes SSH_CONNECTION away, so it is looked for among our ancestors too. Match LocalAddress and LocalPort need the ends of the connection
 * here, which old versions do not take.
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
