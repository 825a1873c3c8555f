/** All options of gpg 2.2 to 2.5 that take a value, by long name, including unsupported options. The word after such an option is not a file to sign. */
const WITH_VALUE = new Set([
  'agent-program attribute-fd attribute-file auto-key-locate bzip2-compress-level cert-digest-algo cert-notation cert-policy-url',
  'charset cipher-algo command-fd command-file comment completes-needed compliance compress-algo compress-level compression-algo',
  'ctapi-driver debug debug-level default-cert-check-level default-cert-expire default-cert-level default-key default-keyserver-url',
  'default-new-key-algo default-preference-list default-recipient default-sig-expire digest-algo dirmngr-program disable-cipher-algo',
  'disable-pubkey-algo display display-charset encoding encrypt-to exec-path export-filter export-options faked-system-time',
  'force-ownertrust gpg-agent-info group hidden-encrypt-to hidden-recipient hidden-recipient-file homedir import-filter import-options',
  'input-size-hint key-origin keyid-format keyring keyserver keyserver-options known-notation lc-ctype lc-messages',
  'limit-card-insert-tries list-options local-user log-file logger-fd logger-file marginals-needed max-cert-depth max-output',
  'min-cert-level min-rsa-length options output override-session-key override-session-key-fd passphrase passphrase-fd passphrase-file',
  'passphrase-repeat pcsc-driver personal-cipher-preferences personal-cipher-prefs personal-compress-preferences',
  'personal-compress-prefs personal-digest-preferences personal-digest-prefs photo-viewer pinentry-mode primary-keyring reader-port',
  'recipient recipient-file remote-user request-origin s2k-cipher-algo s2k-count s2k-digest-algo s2k-mode secret-keyring sender',
  'set-filename set-filesize set-notation set-policy-url sig-keyserver-url sig-notation sig-policy-url sign-with status-fd status-file',
  'temp-directory tofu-db-format tofu-default-policy trust-model trustdb-name trusted-key try-secret-key ttyname ttytype ungroup',
  'verify-options weak-digest xauthority',
].flatMap((names) => names.split(' '))); // prettier-ignore

const SHORT: Readonly<Record<string, string>> = {
  a: 'armor',
  b: 'detach-sign',
  s: 'sign',
  t: 'textmode',
  u: 'local-user',
  o: 'output',
  r: 'recipient',
  k: 'list-keys',
  K: 'list-secret-keys',
  q: 'quiet',
  v: 'verbose',
  n: 'dry-run',
  z: 'compress-level',
};
const SAME: Readonly<Record<string, string>> = {
  'clear-sign': 'clearsign',
  'list-secret-key': 'list-secret-keys',
  armour: 'armor',
  'no-armour': 'no-armor',
  user: 'local-user',
  'sign-with': 'local-user',
};

/** Shortest abbreviations that gpg accepts for these options, in lower case. GPGME writes `--sign --detach`. */
const ABBREVIATED: readonly (readonly [least: string, name: string])[] = [
  ['det', 'detach-sign'],
  ['clear', 'clearsign'],
  ['list-se', 'list-secret-keys'],
];

/** Requested operation. `other` is an operation that only the real gpg performs, such as verifying and importing. */
type GpgTask = 'detach' | 'clearsign' | 'inline' | 'list' | 'export' | 'other';

/** GpgCall is a parsed command line of gpg. */
export interface GpgCall {
  readonly task: GpgTask;
  /** Values by long option name. A repeated option has several values, in order. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly flags: ReadonlySet<string>;
  /** Names of files or keys. */
  readonly operands: readonly string[];
}

/** Parses a command line like gpg. Long options can have the form `--name=value`, and short options can be combined (`-bsau KEY`). */
export function readGpgCall(args: readonly string[]): GpgCall {
  const values = new Map<string, string[]>();
  const flags = new Set<string>();
  const operands: string[] = [];
  const rest = [...args];
  const take = (name: string, given: string | undefined): void => {
    const long = SAME[name] ?? unabbreviated(name);
    if (!WITH_VALUE.has(long)) return setFlag(flags, long);
    values.set(long, [...(values.get(long) ?? []), given ?? rest.shift() ?? '']);
  };
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') operands.push(...rest.splice(0));
    else if (word.startsWith('--')) {
      const [name = '', ...value] = word.slice(2).split('=');
      take(name, value.length === 0 ? undefined : value.join('='));
    } else if (/^-[A-Za-z]/.test(word)) shortOptions(word.slice(1), take);
    else operands.push(word);
  }
  return { task: taskOf(flags), values, flags, operands };
}

/** Sets a flag and clears its opposite, so that the last of `--armor` and `--no-armor` applies. */
function setFlag(flags: Set<string>, name: string): void {
  flags.add(name);
  flags.delete(name.startsWith('no-') ? name.slice('no-'.length) : `no-${name}`);
}

/** Parses combined short options. The first letter that takes a value uses the rest of the word, or the next word if the rest is empty. */
function shortOptions(letters: string, take: (name: string, given: string | undefined) => void): void {
  for (let at = 0; at < letters.length; at += 1) {
    const name = SHORT[letters[at] ?? ''] ?? letters[at] ?? '';
    const value = letters.slice(at + 1);
    const takesValue = WITH_VALUE.has(name);
    take(name, takesValue && value !== '' ? value : undefined);
    if (takesValue) return;
  }
}

function unabbreviated(name: string): string {
  const found = ABBREVIATED.find(([least, whole]) => name.startsWith(least) && whole.startsWith(name));
  return found?.[1] ?? name;
}

function taskOf(flags: ReadonlySet<string>): GpgTask {
  if (flags.has('clearsign')) return 'clearsign';
  if (flags.has('detach-sign')) return 'detach';
  if (flags.has('list-secret-keys')) return 'list';
  if (flags.has('sign') && !WITH_SIGN.some((flag) => flags.has(flag))) return 'inline';
  return flags.has('export') ? 'export' : 'other';
}

/** Options, in long and short form, that turn `--sign` into another operation. */
const WITH_SIGN = ['encrypt', 'e', 'symmetric', 'c', 'decrypt', 'd', 'verify', 'store'];

/** Returns the last value of an option, which is the value that gpg uses. */
export function lastValue({ values }: GpgCall, name: string): string | undefined {
  return values.get(name)?.at(-1);
}

/** Returns the file descriptor in `-&N`, the notation with which GPGME passes data, or undefined for a file name. */
export function descriptorOf({ flags }: GpgCall, name: string): number | undefined {
  const digits = flags.has('enable-special-filenames') ? /^-&(\d{1,6})$/.exec(name)?.[1] : undefined;
  return digits === undefined ? undefined : Number(digits);
}
