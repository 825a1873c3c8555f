import {
  type UnixAccount,
  keyFilesOf,
  type KeyFileSettings,
  readConfigured,
  readEffective,
} from '../../platform/ssh/key-files.js';
import { shown, type ScriptLine, fieldTextOf } from './host-scripts.js';

/** Facts about a host that the file search depends on. */
export interface HostSurvey {
  readonly user: string;
  readonly isRoot: boolean;
  readonly os: string;
  /** The host's clock, and the offset of its local time from UTC in minutes. */
  readonly clock: Date;
  readonly ahead: number;
  readonly accounts: readonly UnixAccount[];
  /** First value of each directive in the effective configuration (`sshd -T`), or in the configuration file. */
  readonly directives: Readonly<Record<string, string>>;
  readonly confidence: 'high' | 'low';
  /** authorized_keys files, keyed by account. */
  readonly keyFiles: ReadonlyMap<string, readonly string[]>;
  /** Values of AuthorizedKeysCommand. If the list is not empty, the authorized_keys files do not list all keys. */
  readonly commands: readonly string[];
}

const MAX_DIRECTIVES = 300;

export function readSurvey(output: readonly ScriptLine[]): HostSurvey {
  const find = (tag: string) => output.find((one) => one.tag === tag) ?? { tag, fields: [] };
  const effective = output.find(({ tag }) => tag === 'effective');
  const text = fieldTextOf(effective ?? find('configured'), 0);
  const general = effective === undefined ? readConfigured(text) : readEffective(text);
  const own = new Map(
    output
      .filter((one) => one.tag === 'account' && fieldTextOf(one, 1) !== '')
      .map((one): [string, KeyFileSettings] => [fieldTextOf(one, 0), readEffective(fieldTextOf(one, 1))]),
  );
  const accounts = accountsOf(fieldTextOf(find('accounts'), 0));
  const settingsOf = ({ name }: UnixAccount) => own.get(name) ?? general;
  return {
    user: shown(fieldTextOf(find('who'), 0)),
    isRoot: fieldTextOf(find('who'), 1).trim() === '0',
    os: shown(fieldTextOf(find('os'), 0)),
    clock: new Date(Number(fieldTextOf(find('clock'), 0)) * 1000),
    ahead: minutesOf(fieldTextOf(find('clock'), 1)),
    accounts,
    directives: directivesOf(text),
    confidence: general.confidence,
    keyFiles: new Map(accounts.map((account) => [account.name, keyFilesOf(settingsOf(account), account)])),
    commands: [...new Set([general, ...own.values()].flatMap(({ command }) => command ?? []))],
  };
}

/** Parses the output of `getent passwd`. Accounts whose home contains a tab are skipped, because the scripts separate fields by tabs. */
function accountsOf(passwd: string): UnixAccount[] {
  const accounts = passwd.split('\n').flatMap((line): UnixAccount[] => {
    const [name = '', , uid = '', , , home = ''] = line.split(':');
    return name === '' || !/^\d+$/.test(uid) || !home.startsWith('/') || home.includes('\t')
      ? []
      : [{ name, uid: Number(uid), home: withoutSlashes(home) }];
  });
  return [...new Map(accounts.map((account) => [account.name, account])).values()];
}

/** Removes trailing slashes: `/home/a//` becomes `/home/a`; `/` stays. */
function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function directivesOf(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split('\n').slice(0, 20_000)) {
    const [start = '', name = ''] = /^\s*([A-Za-z][A-Za-z0-9]*)(?=[\s=])/.exec(line) ?? [];
    const value = line.slice(start.length).replace(/^[\s=]+/, '');
    const key = name.toLowerCase();
    if (key === 'match') break; // the remaining directives apply only to some logins
    if (key === '' || Object.keys(found).length >= MAX_DIRECTIVES) continue;
    found[key] = ['hostkey', 'port', 'listenaddress', 'acceptenv'].includes(key)
      ? shown([found[key], value.trim()].filter((part) => part !== undefined).join(' '), 1000)
      : (found[key] ?? shown(value.trim(), 1000));
  }
  return found;
}

/** Parses a UTC offset such as `+0130`, and returns it in minutes. */
function minutesOf(zone: string): number {
  const [, sign = '+', hours = '0', minutes = '0'] = /^([+-])(\d\d)(\d\d)/.exec(zone) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
