import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { type KeyVault, type VaultKey } from '../../src/hsm/key-vault.js';
import { buildShim, type Shim } from '../fakes/pkcs11-shim/shim.js';
import { answered, createToken, newIdentity, newKey, openVault, type TestToken, useToken } from '../support/hsm.js';

const VAULT_SOURCE = fileURLToPath(new URL('../../src/hsm/process/key-process-vault.ts', import.meta.url));
const CONFIG_SOURCE = fileURLToPath(new URL('../../src/platform/config/config.ts', import.meta.url));

let token: TestToken;
let shim: Shim;
let vaults: KeyProcessVault[];

beforeEach(() => {
  token = createToken();
  shim = buildShim(token.directory);
  Object.assign(process.env, shim.environment);
  vaults = [];
});

afterEach(async () => {
  await Promise.all(vaults.map((vault) => vault.onApplicationShutdown()));
  token.remove();
});

async function open(settings: Record<string, string> = {}): Promise<KeyProcessVault> {
  const vault = await openVault(token, { SVC_PKCS11_LIBRARY: shim.library, ...settings });
  vaults.push(vault);
  return vault;
}

function sign(vault: KeyVault, key: VaultKey): Promise<Buffer> {
  return vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) });
}

function logins(): number[] {
  return shim.journal().flatMap(({ kind, result }) => (kind === 'login' ? [result] : []));
}

/** Reports whether the process is running. Returns false for a zombie: an orphaned zombie can be reaped only by process 1. */
function runs(pid: number): boolean {
  try {
    const [, state] = /^\d+ \(.*\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return state !== 'Z' && state !== 'X';
  } catch {
    return false;
  }
}

async function gone(pid: number): Promise<boolean> {
  const until = performance.now() + 10_000;
  while (runs(pid) && performance.now() < until) await sleep(10);
  return !runs(pid);
}

const CKR_PIN_INCORRECT = 0xa0;
const CKR_GENERAL_ERROR = 0x05;
const CKR_USER_PIN_NOT_INITIALIZED = 0x102;

describe('a wrong PIN', () => {
  it.each([
    ['CKR_PIN_EXPIRED', 0xa3],
    ['CKR_PIN_LOCKED', 0xa4],
    ['a code of the vendor', 0x80000001],
  ])('rejected by the token with %s is tried exactly once', async (_, code) => {
    shim.fault(`deny ${code}`);
    const vault = await open();
    await expect.poll(logins, { timeout: 30_000 }).toHaveLength(1);
    await sleep(1500);
    expect(logins()).toEqual([code]);
    expect(vault.health()).toMatchObject({ up: false, respawns: 0 });
  });

  it('is tried exactly once: the vault stays down, reports why and responds immediately', async () => {
    writeFileSync(token.pinFile, '000000\n');
    const vault = await open();
    await expect.poll(logins, { timeout: 30_000 }).toHaveLength(1);
    await sleep(3000);
    expect(logins()).toEqual([CKR_PIN_INCORRECT]);
    expect(vault.health()).toMatchObject({ up: false, respawns: 0 });
    expect(vault.health().detail).toContain('CKR_PIN_INCORRECT');
    expect(vault.health().detail).not.toContain('000000');
    const start = performance.now();
    const key: VaultKey = {
      ckaId: Buffer.from([1]),
      identity: newIdentity(),
      type: 'ec-p256',
      publicKey: Buffer.alloc(91),
    };
    await expect(sign(vault, key)).rejects.toMatchObject({
      kind: 'unavailable',
      code: 'hsm.unavailable',
      retryAfter: 1,
    });
    expect(performance.now() - start).toBeLessThan(1000);
  });

  it('that becomes wrong while the service runs is tried once too, by the next key process', async () => {
    const vault = await open();
    const key = await newKey(vault, 'ec-p256');
    writeFileSync(token.pinFile, '000000\n');
    process.kill(vault.health().pid ?? 0, 'SIGKILL');
    await expect.poll(logins, { timeout: 30_000 }).toHaveLength(2);
    await sleep(2000);
    expect(logins()).toEqual([0, CKR_PIN_INCORRECT]);
    await expect(sign(vault, key)).rejects.toMatchObject({ code: 'hsm.unavailable' });
  });
});

describe('startup', () => {
  it('waits for a missing PIN file', async () => {
    renameSync(token.pinFile, `${token.pinFile}.later`);
    const vault = await open();
    expect(vault.health()).toMatchObject({ up: false, detail: expect.stringContaining(`${token.pinFile} (ENOENT)`) });
    renameSync(`${token.pinFile}.later`, token.pinFile);
    await expect.poll(() => vault.health().up, { timeout: 30_000 }).toBe(true);
  });

  it.each([
    ['CKR_USER_PIN_NOT_INITIALIZED, as SoftHSM says while another process logs in', CKR_USER_PIN_NOT_INITIALIZED],
    ['CKR_GENERAL_ERROR, as it says at other moments', CKR_GENERAL_ERROR],
    ['CKR_DEVICE_ERROR', 0x30],
  ])('waits if the PIN is not yet accepted: %s', async (_, code) => {
    shim.fault(`deny ${code} 2`);
    const vault = await open();
    await expect.poll(() => vault.health().up, { timeout: 30_000 }).toBe(true);
    expect(logins()).toEqual([code, code, 0]);
  });

  it('waits for a missing token and reports its label', async () => {
    renameSync(token.tokens, `${token.tokens}.later`);
    const vault = await open();
    expect(vault.health().up).toBe(false);
    renameSync(`${token.tokens}.later`, token.tokens);
    await expect.poll(() => vault.health().up, { timeout: 30_000 }).toBe(true);
    await newKey(vault, 'ec-p256');
  });

  it('reports that no token has the label', async () => {
    const vault = await open({ SVC_PKCS11_TOKEN_LABEL: 'another' });
    expect(vault.health()).toMatchObject({ up: false, detail: 'no token has the label "another"' });
  });

  it('reports an unusable library', async () => {
    const library = join(token.directory, 'no-such-module.so');
    const vault = await open({ SVC_PKCS11_LIBRARY: library });
    expect(vault.health().up).toBe(false);
    expect(vault.health().detail).toContain('no-such-module.so');
  });
});

describe('several services with one token', () => {
  it('start together, sign together, and see keys created by the others', async () => {
    const opened = await Promise.all(Array.from({ length: 6 }, () => open({ SVC_PKCS11_SESSIONS: '2' })));
    await expect.poll(() => opened.every((vault) => vault.health().up), { timeout: 60_000 }).toBe(true);
    const keys = await Promise.all(opened.map((vault) => newKey(vault, 'ec-p256')));
    const orders = opened.flatMap((vault) => keys.flatMap((key) => Array.from({ length: 10 }, () => ({ vault, key }))));
    const signed = await Promise.all(orders.map(({ vault, key }) => answered(() => sign(vault, key))));
    expect(signed).toHaveLength(360);
    // Besides success, only errors that SoftHSM returns while another process writes the token file are expected. None of these errors rejects the PIN.
    expect(logins().filter((result) => ![0, CKR_GENERAL_ERROR, CKR_USER_PIN_NOT_INITIALIZED].includes(result))).toEqual(
      [],
    );
    console.log(`6 key processes took ${logins().length} logins to be up`);
  });
});

describe('the key process', () => {
  it('ignores signals that a terminal sends to the process group', async () => {
    const vault = await open();
    const { pid = 0 } = vault.health();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
    await sleep(200);
    await newKey(vault, 'ec-p256');
    expect(vault.health()).toMatchObject({ pid, respawns: 0 });
  });

  it('exits when the vault is closed, after accepted requests are done', async () => {
    const vault = await open();
    const { pid = 0 } = vault.health();
    const key = await newKey(vault, 'ec-p256');
    const orders = Array.from({ length: 300 }, () => sign(vault, key));
    await vault.onApplicationShutdown();
    expect(await Promise.all(orders)).toHaveLength(300);
    expect(await gone(pid)).toBe(true);
    await expect(sign(vault, key)).rejects.toMatchObject({ code: 'hsm.unavailable' });
  });

  it('exits with its parent', async () => {
    useToken(token);
    const script = `
      import { KeyProcessVault } from ${JSON.stringify(VAULT_SOURCE)};
      import { Config } from ${JSON.stringify(CONFIG_SOURCE)};
      const vault = new KeyProcessVault(new Config(${JSON.stringify(token.settings)}));
      await vault.onModuleInit();
      console.log('pid ' + vault.health().pid);`;
    const file = join(token.directory, 'parent.mts');
    writeFileSync(file, script);
    const parent = spawn(process.execPath, ['--experimental-transform-types', '--no-warnings', file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let pid = 0;
    for await (const line of createInterface({ input: parent.stdout })) {
      if (line.startsWith('pid ')) {
        pid = Number(line.slice(4));
        break;
      }
    }
    expect(runs(pid)).toBe(true);
    const exit = once(parent, 'exit');
    parent.kill('SIGKILL');
    await exit;
    expect(await gone(pid)).toBe(true);
    rmSync(file);
  });
});
