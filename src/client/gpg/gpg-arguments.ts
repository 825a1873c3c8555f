/** Options of gpg that take a value, by their long names; whether we act on them or not, the word behind them is no file. */
const WITH_VALUE = new Set([
  'local-user default-key output status-fd status-file logger-fd logger-file log-file attribute-fd attribute-file command-fd',
  'passphrase passphrase-fd passphrase-file passphrase-repeat pinentry-mode homedir options keyring secret-keyring primary-keyring',
  'digest-algo cert-digest-algo personal-digest-preferences s2k-digest-algo cipher-algo compress-algo compress-level',
  'comment charset display-charset lc-ctype lc-messages ttyname ttytype display xauthority keyid-format list-options',
  'verify-options faked-system-time set-filename sig-notation set-notation cert-notation sig-policy-url default-sig-expire',
  'trust-model request-origin sender agent-program keyserver recipient compliance min-rsa-length weak-digest encoding',
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
  user: 'local-user',
};

/** Shortest beginnings that gpg takes for these, in lower case: GPGME writes `--sign --detach`. */
const ABBREVIATED: readonly (readonly [least: string, name: string])[] = [
  ['det', 'detach-sign'],
  ['clear', 'clearsign'],
  ['list-se', 'list-secret-keys'],
];

/** What gpg is asked to do. `other`: something that only the real one does, such as verifying and importing. */
type GpgTask = 'detach' | 'clearsign' | 'list' | 'export' | 'other';

/** A command line of gpg. */
export interface GpgCall {
  readonly task: GpgTask;
  /** Values by the long name of their option; of several with one name all, in their order. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly flags: ReadonlySet<string>;
  /** Files, or names of keys. */
  readonly operands: readonly string[];
}

/** Reads a command line as gpg does: long options also as `--name=value`, short ones also together (`-bsau KEY`). */
export function readGpgCall(args: readonly string[]): GpgCall {
  const values = new Map<string, string[]>();
  const flags = new Set<string>();
  const operands: string[] = [];
  const rest = [...args];
  const take = (name: string, given: string | undefined): void => {
    const long = SAME[name] ?? unabbreviated(name);
    if (!WITH_VALUE.has(long)) return void flags.add(long);
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

/** The first letter with a value takes what is left of the word, or the next word. */
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
  return flags.has('export') ? 'export' : 'other';
}

/** The last value of an option, as gpg takes it. */
export function lastValue({ values }: GpgCall, name: string): string | undefined {
  return values.get(name)?.at(-1);
}

/** A file descriptor that `-&N` names, as GPGME passes its data; undefined for the name of a file. */
export function descriptorOf({ flags }: GpgCall, name: string): number | undefined {
  const digits = flags.has('enable-special-filenames') ? /^-&(\d{1,6})$/.exec(name)?.[1] : undefined;
  return digits === undefined ? undefined : Number(digits);
}
