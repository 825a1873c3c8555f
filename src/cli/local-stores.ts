import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AdminError } from './command.js';
import type { Account } from './installation.js';

const DATABASE = 'sealwright';
const TOKEN_LABEL = 'sealwright';
/** Paths of the SoftHSM library in Debian packages, with and without the architecture. */
const SOFTHSM_LIBRARIES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
];

/**
 * createLocalDatabase creates the role and the database `sealwright` in the local PostgreSQL server if they do not exist, and sets the role's password.
 * Connects as the account postgres over the local socket. Throws AdminError.
 * @returns URL for SVC_DATABASE_URL, including the password
 */
export function createLocalDatabase(password: string): string {
  const present = psql(`SELECT 1 FROM pg_database WHERE datname = '${DATABASE}'`).trim() === '1';
  // The password is a literal, because utility statements accept no parameters. A base64url password needs no escaping.
  psql(
    `DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${DATABASE}') THEN CREATE ROLE ${DATABASE} LOGIN; END IF; END $$;
     ALTER ROLE ${DATABASE} PASSWORD '${password}';`,
  );
  if (!present) psql(`CREATE DATABASE ${DATABASE} OWNER ${DATABASE} ENCODING 'UTF8' TEMPLATE template0`);
  const port = psql('SHOW port').trim();
  return `postgresql://${DATABASE}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

function psql(sql: string): string {
  const args = [
    '-u',
    'postgres',
    '--',
    'psql',
    '--no-psqlrc',
    '--quiet',
    '--tuples-only',
    '--no-align',
    '--set=ON_ERROR_STOP=1',
  ];
  try {
    // The SQL is passed on standard input, because every account on the machine can read arguments.
    return execFileSync('runuser', args, { input: sql, encoding: 'utf8', cwd: '/', stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new AdminError(
      `Cannot set up PostgreSQL on this machine: ${(stderr ?? '').trim() || message}. Install and start it (apt-get install postgresql), or specify another server with --database-url.`,
    );
  }
}

/**
 * createSoftHsmToken initializes the SoftHSM token of the installation in `home` if the token does not exist. Throws AdminError.
 * @returns settings that the units need to use the token
 */
export async function createSoftHsmToken(
  home: string,
  account: Account,
  pins: { readonly user: string; readonly securityOfficer: string },
): Promise<Record<string, string>> {
  const library = SOFTHSM_LIBRARIES.find((file) => existsSync(file));
  if (library === undefined)
    throw new AdminError(
      'SoftHSM is not installed. Run: apt-get install softhsm2. To use another HSM, set SVC_PKCS11_LIBRARY and SVC_PKCS11_TOKEN_LABEL in sealwright.env, write its PIN to pkcs11-pin, and use --token existing.',
    );
  const configuration = await configureSoftHsm(home, account);
  const asAccount = {
    uid: account.uid,
    gid: account.gid,
    cwd: home,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', SOFTHSM2_CONF: configuration },
  };
  const run = promisify(execFile);
  const { stdout } = await run('softhsm2-util', ['--show-slots'], asAccount);
  const labels = stdout.split('\n').map((line) => line.trim().split(/: +/));
  if (!labels.some(([name, label]) => name === 'Label' && label === TOKEN_LABEL)) {
    // softhsm2-util reads PINs only from arguments or a terminal. Other accounts may read the arguments, but the PINs are new and the token is still empty.
    const pinsOf = ['--so-pin', pins.securityOfficer, '--pin', pins.user];
    await run('softhsm2-util', ['--init-token', '--free', '--label', TOKEN_LABEL, ...pinsOf], asAccount);
  }
  return { SVC_PKCS11_LIBRARY: library, SVC_PKCS11_TOKEN_LABEL: TOKEN_LABEL, SOFTHSM2_CONF: configuration };
}

/**
 * configureSoftHsm writes the SoftHSM configuration in `home` and creates the token directory if the directory does not exist.
 * @returns path of the configuration
 */
export async function configureSoftHsm(home: string, account: Account): Promise<string> {
  const configuration = join(home, 'softhsm2.conf');
  const tokens = join(home, 'tokens');
  await mkdir(tokens, { recursive: true, mode: 0o700 });
  await writeFile(configuration, `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\nslots.removable = false\n`); // prettier-ignore
  for (const path of [home, tokens, configuration]) await chown(path, account.uid, account.gid);
  return configuration;
}
