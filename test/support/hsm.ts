import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import {
  type KeyIdentity,
  type KeyType,
  type KeyVault,
  signingKeyOwner,
  type VaultKey,
} from '../../src/hsm/key-vault.js';
import { Config } from '../../src/platform/config/config.js';
import { Problem } from '../../src/platform/errors/problem.js';

/** A private SoftHSM token. `environment` must be set in the process that starts the key process; see `useToken`. */
export interface TestToken {
  readonly directory: string;
  /** SoftHSM's token directory; moving the directory removes the token. */
  readonly tokens: string;
  readonly label: string;
  readonly pinFile: string;
  readonly environment: { readonly SOFTHSM2_CONF: string; readonly NODE_OPTIONS: string };
  /** Settings SVC_PKCS11_… of the token. */
  readonly settings: Readonly<Record<string, string>>;
  remove(): void;
}

const PIN = '918273';

/** Node option that lets the key process run from source. */
const RUN_SOURCES = `--import=${new URL('./typescript-sources.mjs', import.meta.url).href}`;

/** Initializes a token in a new directory below `parent`, by default the temporary directory. */
export function createToken(parent?: string): TestToken {
  const directory = mkdtempSync(join(parent ?? tmpdir(), 'sealwright-hsm-'));
  const tokens = join(directory, 'tokens');
  const label = 'sealwright-test';
  const conf = join(directory, 'softhsm2.conf');
  const pinFile = join(directory, 'pin');
  mkdirSync(tokens);
  writeFileSync(conf, `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`);
  writeFileSync(pinFile, `${PIN}\n`, { mode: 0o600 });
  execFileSync('softhsm2-util', ['--init-token', '--free', '--label', label, '--pin', PIN, '--so-pin', '12345678'], {
    env: { ...process.env, SOFTHSM2_CONF: conf },
    stdio: 'pipe',
  });
  return {
    directory,
    tokens,
    label,
    pinFile,
    environment: { SOFTHSM2_CONF: conf, NODE_OPTIONS: RUN_SOURCES },
    settings: {
      SVC_PKCS11_TOKEN_LABEL: label,
      SVC_PKCS11_PIN_FILE: pinFile,
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Runs pkcs11-tool, which shares no code with the service, as the token's user. Returns its output. */
export function pkcs11Tool({ environment, label }: TestToken, ...args: string[]): string {
  const module = process.env['SW_TEST_SOFTHSM'] ?? '/usr/lib/softhsm/libsofthsm2.so';
  const where = ['--module', module, '--token-label', label, '--login', '--pin', PIN];
  const env = { ...process.env, ...environment };
  return execFileSync('pkcs11-tool', [...where, ...args], { encoding: 'utf8', stdio: 'pipe', env });
}

/** Returns the objects in the token as listed by pkcs11-tool, one string per object. */
export function objectsIn(token: TestToken, ...filter: string[]): string[] {
  const text = pkcs11Tool(token, '--list-objects', ...filter);
  return text.split(/^(?=\S.* Object)/m).filter((part) => part.includes(' Object'));
}

/** Sets the token's environment in this process, so that child processes inherit it. */
export function useToken(token: TestToken): void {
  Object.assign(process.env, token.environment);
}

/** Starts a vault for the token in this process. `settings` override the token's settings. */
export async function openVault(token: TestToken, settings: Record<string, string> = {}): Promise<KeyProcessVault> {
  useToken(token);
  const vault = new KeyProcessVault(new Config({ ...token.settings, ...settings }));
  await vault.onModuleInit();
  return vault;
}

/** Generates a key as soon as the vault is available. */
export async function newKey(vault: KeyVault, type: KeyType): Promise<VaultKey> {
  return answered(async () => {
    const ckaId = randomBytes(16);
    const identity = newIdentity();
    const { publicKey } = await vault.generate({ ckaId, identity, type });
    return { ckaId, identity, type, publicKey };
  });
}

/** Creates the identity of a new signing key. */
export function newIdentity(name = 'test', version = 1): KeyIdentity {
  return { purpose: 'signing', owner: signingKeyOwner(randomUUID(), name, version) };
}

/** Like a caller, retries for half a minute while the key process is being replaced. Rethrows other errors. */
export async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'hsm.unavailable' || attempt === 300) throw error;
      await sleep(100);
    }
  }
}
