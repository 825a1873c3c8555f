import { execFileSync, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { type AdminCommand, AdminError, ADMIN_EXIT, note, print } from './command.js';
import { type Account, Installation, newPin, newSecret } from './installation.js';
import { configureSoftHsm, createLocalDatabase, createSoftHsmToken } from './local-stores.js';

const ETC = '/etc/sealwright';
const HOME = '/var/lib/sealwright';
const ACCOUNT = 'sealwright';
const LOCAL_REDIS = 'redis://127.0.0.1:6379';

/** setup prepares an installation of the Debian package. */
export const setup: AdminCommand = {
  name: 'setup',
  usage: [
    '[--public-url URL] [--admin EMAIL] [--database-url URL|local] [--redis-url URL] [--token softhsm|existing]',
    '--for-restore [--database-url local]',
  ],
  summary:
    'Sets up a new installation: asks for or generates missing settings, migrates, creates the first administrator',
  details: [
    'Run it as root after installing the package. Existing settings are kept, so it can be repeated. Missing settings',
    'without an option are prompted for on a terminal.',
    '',
    '  --public-url URL      address that users and pipelines use, for example https://sign.example.com',
    '  --admin EMAIL         first administrator; a link to set the password is printed once',
    '  --database-url URL    PostgreSQL 15 or later; `local` creates a role and database in the PostgreSQL on this machine',
    '  --redis-url URL       default redis://127.0.0.1:6379',
    '  --token softhsm       creates a SoftHSM token, for trials; `existing` uses the HSM named in sealwright.env',
    '  --for-restore         prepares a new machine for `restore run`: copy /etc/sealwright from the lost machine first;',
    '                        the database and the token stay empty',
    '',
    'Settings are written to /etc/sealwright/sealwright.env, secrets to /etc/sealwright/secrets. Then start the units:',
    'systemctl enable --now sealwright-api sealwright-worker',
  ],
  run: prepare,
};

const OPTIONS = {
  'public-url': { type: 'string' },
  admin: { type: 'string' },
  'database-url': { type: 'string' },
  'redis-url': { type: 'string' },
  token: { type: 'string' },
  'for-restore': { type: 'boolean' },
} as const;

type Options = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

async function prepare(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: OPTIONS });
  if (process.getuid?.() !== 0)
    throw new AdminError('Run this command as root: sudo sealwright-admin setup', ADMIN_EXIT.usage);
  const account = accountOf(ACCOUNT);
  const installation = new Installation(ETC, account);
  if (values['for-restore'] === true) return prepareForRestore(installation, account, values);
  await configure(installation, values);
  await prepareDatabase(installation, values);
  await prepareToken(installation, account, values);
  note('Migrating the database …');
  runAsService(['migrate']);
  await createAdministrator(values);
  print('Ready. Start the service: systemctl enable --now sealwright-api sealwright-worker');
  print(
    'Back up /etc/sealwright/secrets and /etc/sealwright/pkcs11-pin now: without them, no backup can be decrypted.',
  );
}

/** Prepares this machine for a restore. Requires the secrets of the lost machine, because new secrets cannot decrypt the restored database. */
async function prepareForRestore(installation: Installation, account: Account, values: Options): Promise<void> {
  for (const name of ['database-url', 'jwt-secret'])
    if ((await installation.secret(name)) === undefined)
      throw new AdminError(
        `${ETC}/secrets/${name} is missing. Restore the copy of ${ETC} from the lost machine first.`,
      );
  await prepareDatabase(installation, values);
  if ((await installation.settings())['SOFTHSM2_CONF'] !== undefined) await configureSoftHsm(HOME, account);
  print('Ready. Next: sealwright-admin restore run DIRECTORY');
}

async function configure(installation: Installation, values: Options): Promise<void> {
  const present = await installation.settings();
  const url =
    present['SVC_PUBLIC_URL'] ??
    values['public-url'] ??
    (await ask('Public address, for example https://sign.example.com', '--public-url'));
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new AdminError(`--public-url must be an http(s) URL, not "${url}"`, ADMIN_EXIT.usage);
  const added = await installation.addSettings({
    SVC_PUBLIC_URL: url,
    SVC_HOST: '127.0.0.1',
    SVC_TRUST_PROXY: '127.0.0.1',
    SVC_MANAGEMENT_HOST: '127.0.0.1',
  });
  if (added.length > 0) note(`sealwright.env: added ${added.join(', ')}`);
  await installation.ensureSecret('jwt-secret', newSecret);
  await installation.ensureSecret('redis-url', () => values['redis-url'] ?? LOCAL_REDIS);
}

async function prepareDatabase(installation: Installation, values: Options): Promise<void> {
  const present = await installation.secret('database-url');
  if (present !== undefined) {
    const password = values['database-url'] === 'local' ? localPasswordOf(present) : undefined;
    if (password !== undefined) createLocalDatabase(password);
    return;
  }
  const wanted =
    values['database-url'] ??
    (await ask('PostgreSQL URL, or "local" for the server on this machine', '--database-url'));
  const url = wanted === 'local' ? createLocalDatabase(newSecret()) : wanted;
  await installation.ensureSecret('database-url', () => url);
}

/** Returns the password in a URL that `createLocalDatabase` returned, on this or another machine; undefined for any other URL. */
function localPasswordOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { hostname, username, password } = new URL(address);
  return hostname === '127.0.0.1' && username === ACCOUNT && /^[\w-]+$/.test(password) ? password : undefined;
}

async function prepareToken(installation: Installation, account: Account, values: Options): Promise<void> {
  const present = await installation.settings();
  const wanted = values.token ?? (present['SVC_PKCS11_LIBRARY'] === undefined ? 'softhsm' : 'existing');
  if (wanted !== 'softhsm' && wanted !== 'existing')
    throw new AdminError(`--token must be softhsm or existing, not "${wanted}"`, ADMIN_EXIT.usage);
  if (wanted === 'existing') return;
  const pins = {
    user: await installation.ensurePin(),
    securityOfficer: await installation.ensureSecret('pkcs11-so-pin', newPin),
  };
  await installation.addSettings(await createSoftHsmToken(HOME, account, pins));
}

async function createAdministrator(values: Options): Promise<void> {
  const email =
    values.admin ?? (process.stdin.isTTY ? await ask('Email address of the first administrator', '--admin') : '');
  if (email === '') {
    note('No administrator was created. Create one: sealwright-admin user create EMAIL --role admin');
    return;
  }
  runAsService(['user', 'create', email, '--role', 'admin', '--link']);
}

/** Runs another command of this program as the service account, with the settings of the systemd units. */
function runAsService(args: readonly string[]): void {
  const { status } = spawnSync('sealwright-admin', args, { stdio: 'inherit' });
  if (status !== 0) throw new AdminError(`sealwright-admin ${args[0]} failed. Fix the cause, then run setup again.`);
}

function accountOf(name: string): Account {
  try {
    const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    throw new AdminError(
      `Account "${name}" does not exist. The Debian package creates it: apt-get install ./sealwright_*.deb`,
    );
  }
}

async function ask(question: string, option: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new AdminError(`${option} is required. See: sealwright-admin help setup`, ADMIN_EXIT.usage);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(`${question}: `)).trim();
  } finally {
    terminal.close();
  }
}
