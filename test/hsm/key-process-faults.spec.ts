import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { type SignatureScheme, type VaultKey } from '../../src/hsm/key-vault.js';
import { Problem } from '../../src/platform/errors/problem.js';
import { buildShim } from '../fakes/pkcs11-shim/shim.js';
import { createToken, newIdentity, newKey, openVault } from '../support/hsm.js';

const DEADLINE_MS = 600;
/** Time limit for the start of a new key process, which usually takes about 200 ms but much longer on a busy machine. */
const SOON_MS = 10_000;
const token = createToken();
const shim = buildShim(token.directory);
let vault: KeyProcessVault;
let ec: VaultKey;
let rsa: VaultKey;

beforeAll(async () => {
  Object.assign(process.env, shim.environment);
  vault = await openVault(token, {
    SVC_PKCS11_LIBRARY: shim.library,
    SVC_PKCS11_DEADLINE_MS: String(DEADLINE_MS),
  });
  ec = await newKey(vault, 'ec-p256');
  rsa = await newKey(vault, 'rsa-2048');
});

afterEach(async () => {
  shim.fault('');
  await serving();
});

afterAll(async () => {
  await vault.onApplicationShutdown();
  token.remove();
});

/** Signs the SHA-256 digest of a new message and verifies the signature with OpenSSL, independently of the vault. */
async function signChecked(key: VaultKey, scheme: SignatureScheme = 'ecdsa-der'): Promise<void> {
  const message = randomBytes(40);
  const digest = createHash('sha256').update(message).digest();
  const signature = await vault.sign({ key, scheme, algorithm: 'sha256', digest });
  const publicKey = createPublicKey({ key: key.publicKey, format: 'der', type: 'spki' });
  if (!verify('sha256', message, publicKey, signature)) throw new Error('the vault let a wrong signature out');
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

/** Waits for a successful signature and returns the milliseconds it took. */
async function serving(): Promise<number> {
  const start = performance.now();
  while ((await codeOf(signChecked(ec))) !== 'done') {
    if (performance.now() - start > SOON_MS) throw new Error(`no signature within ${SOON_MS} ms`);
    await sleep(5);
  }
  return performance.now() - start;
}

describe('kill -9 of the key process under 200 concurrent callers', () => {
  it('loses only the requests it held, and its successor serves the others', async () => {
    const run = { stop: false, done: 0 };
    const codes = new Map<string, number>();
    const caller = async (): Promise<void> => {
      while (!run.stop) {
        const code = await codeOf(signChecked(ec));
        if (code === 'done') run.done += 1;
        else codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    };
    const callers = Array.from({ length: 200 }, caller);
    const kills: { backMs: number; lost: number }[] = [];
    const lostSoFar = () => codes.get('hsm.unavailable') ?? 0;
    for (let kill = 0; kill < 3; kill += 1) {
      await sleep(700);
      const lost = lostSoFar();
      const { pid } = vault.health();
      if (pid === undefined) throw new Error('no key process to kill');
      process.kill(pid, 'SIGKILL');
      const killedAt = performance.now();
      while (vault.health().pid === pid) await sleep(1);
      const { done } = run;
      await expect.poll(() => run.done, { interval: 1, timeout: 10_000 }).toBeGreaterThan(done);
      kills.push({ backMs: Math.round(performance.now() - killedAt), lost: lostSoFar() - lost });
    }
    run.stop = true;
    await Promise.all(callers);
    console.log(`${JSON.stringify(kills)}; ${run.done} signed; ${JSON.stringify([...codes])}`);
    expect([...codes.keys()].filter((code) => code !== 'hsm.unavailable')).toEqual([]);
    // The key process holds at most 32 requests. All other requests wait for the next key process and succeed.
    expect(Math.max(...kills.map(({ lost }) => lost))).toBeLessThanOrEqual(32);
    expect(run.done).toBeGreaterThan(200);
  });
});

it('a call that changes nothing is repeated if the key process is killed before it answers', async () => {
  const associatedData = randomBytes(16);
  const sealed = await vault.seal({ plain: Buffer.from('a secret'), associatedData });
  const { pid, respawns } = vault.health();
  if (pid === undefined) throw new Error('no key process to kill');
  process.kill(pid, 'SIGSTOP');
  const calls = Array.from({ length: 20 }, () => codeOf(vault.unseal({ sealed, associatedData })));
  await sleep(50);
  process.kill(pid, 'SIGKILL');
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['done']));
  expect(vault.health().respawns).toBe(respawns + 1);
});

describe('a signature with one wrong bit', () => {
  it.each([
    ['ecdsa-der', () => ec],
    ['ecdsa-raw', () => ec],
    ['rsa-pkcs1v15', () => rsa],
    ['rsa-pss', () => rsa],
  ] as const)('%s: is not returned, and the key process is replaced', async (scheme, key) => {
    const { respawns } = vault.health();
    const digest = randomBytes(32);
    shim.fault(`flip 1${scheme === 'rsa-pss' ? '' : ` only ${digest.toString('hex')}`}`);
    const order = { key: key(), scheme, algorithm: 'sha256', digest } as const;
    expect(await codeOf(vault.sign(order))).toBe('hsm.wrong-signature');
    await serving();
    expect(vault.health().respawns).toBe(respawns + 1);
  });
});

describe('a hanging HSM call', () => {
  it('ends at the deadline with hsm.deadline, the process is replaced and others are served', async () => {
    const { pid } = vault.health();
    const digest = randomBytes(32);
    shim.fault(`hang 1 only ${digest.toString('hex')}`);
    const start = performance.now();
    const stuck = codeOf(vault.sign({ key: ec, scheme: 'ecdsa-der', algorithm: 'sha256', digest }));
    expect(await codeOf(signChecked(ec))).toBe('done');
    expect(await stuck).toBe('hsm.deadline');
    expect(performance.now() - start).toBeGreaterThan(DEADLINE_MS * 0.9);
    await serving();
    expect(vault.health().pid).not.toBe(pid);
  });

  it('is detected even if it blocks the whole process', async () => {
    const { pid = 0 } = vault.health();
    process.kill(pid, 'SIGSTOP');
    const code = codeOf(signChecked(ec));
    expect(await code).toBe('hsm.deadline');
    await serving();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe('an HSM error code', () => {
  const onlyThis = (): { digest: Buffer; only: string } => {
    const digest = randomBytes(32);
    return { digest, only: `only ${digest.toString('hex')}` };
  };

  it.each([
    ['CKR_DEVICE_ERROR', 0x30],
    ['CKR_GENERAL_ERROR', 0x05],
    ['CKR_SESSION_HANDLE_INVALID', 0xb3],
    ['CKR_TOKEN_NOT_PRESENT', 0xe0],
    ['CKR_USER_NOT_LOGGED_IN', 0x101],
  ])('%s: returns hsm.unavailable, and a new process serves soon', async (_name, ckr) => {
    const { respawns } = vault.health();
    const { digest, only } = onlyThis();
    shim.fault(`err ${ckr} 1 ${only}`);
    const code = await codeOf(vault.sign({ key: ec, scheme: 'ecdsa-der', algorithm: 'sha256', digest }));
    expect(code).toBe('hsm.unavailable');
    await serving();
    expect(vault.health().respawns).toBe(respawns + 1);
  });

  it.each([
    ['CKR_KEY_FUNCTION_NOT_PERMITTED', 0x68, 'hsm.refused'],
    ['CKR_MECHANISM_INVALID', 0x70, 'hsm.refused'],
    ['CKR_DATA_LEN_RANGE', 0x21, 'hsm.refused'],
    ['CKR_FUNCTION_FAILED', 0x06, 'hsm.unavailable'],
    ['CKR_OPERATION_ACTIVE', 0x90, 'hsm.unavailable'],
  ])('%s: fails the request, and the process remains', async (_name, ckr, expected) => {
    const { pid } = vault.health();
    const { digest, only } = onlyThis();
    shim.fault(`err ${ckr} 1 ${only}`);
    expect(await codeOf(vault.sign({ key: ec, scheme: 'ecdsa-der', algorithm: 'sha256', digest }))).toBe(expected);
    expect(await codeOf(signChecked(ec))).toBe('done');
    expect(vault.health().pid).toBe(pid);
  });

  it('CKR_KEY_HANDLE_INVALID: the key is looked up again, unnoticed by the caller', async () => {
    const { pid } = vault.health();
    const { digest, only } = onlyThis();
    shim.fault(`err 0x60 1 ${only}`);
    expect(await codeOf(vault.sign({ key: ec, scheme: 'ecdsa-der', algorithm: 'sha256', digest }))).toBe('done');
    expect(vault.health().pid).toBe(pid);
  });

  it('CKR_OBJECT_HANDLE_INVALID twice: the token lost its objects, and a new process searches for them', async () => {
    const { respawns } = vault.health();
    const { digest, only } = onlyThis();
    shim.fault(`err 0x82 2 ${only}`);
    const code = await codeOf(vault.sign({ key: ec, scheme: 'ecdsa-der', algorithm: 'sha256', digest }));
    expect(code).toBe('hsm.unavailable');
    await serving();
    expect(vault.health().respawns).toBe(respawns + 1);
  });

  it('a crash inside the library affects neither this process nor later requests', async () => {
    const { digest, only } = onlyThis();
    shim.fault(`crash 1 ${only}`);
    const code = await codeOf(vault.sign({ key: ec, scheme: 'ecdsa-der', algorithm: 'sha256', digest }));
    expect(code).toBe('hsm.unavailable');
    await serving();
  });
});

it('a key that the token does not report as never extractable is rejected and destroyed', async () => {
  const order = { ckaId: randomBytes(16), identity: newIdentity('doubtful'), type: 'ec-p256' } as const;
  shim.fault('lie 1');
  expect(await codeOf(vault.generate(order))).toBe('hsm.refused');
  const { evidence } = await vault.generate(order);
  expect(evidence.neverExtractable).toBe(true);
});

describe('a token that is removed', () => {
  const away = `${token.tokens}.away`;

  it('is reported as hsm.unavailable, never as hsm.key-missing, and recovers automatically', async () => {
    const { respawns } = vault.health();
    renameSync(token.tokens, away);
    const codes = new Set<string>();
    const goneAt = performance.now();
    // Callers that retry immediately must not keep this process from starting the next key process.
    while (vault.health().up || vault.health().respawns < respawns + 2) {
      codes.add(await codeOf(signChecked(ec)));
      codes.add(await codeOf(signChecked(rsa, 'rsa-pkcs1v15')));
      if (performance.now() - goneAt > 30_000) throw new Error('no key process was started anew');
    }
    renameSync(away, token.tokens);
    const tookMs = await serving();
    console.log(`the token was back, service after ${Math.round(tookMs)} ms; until then ${[...codes].join(', ')}`);
    expect([...codes].filter((code) => code !== 'done')).toEqual(['hsm.unavailable']);
  });

  it('is detected without traffic', async () => {
    renameSync(token.tokens, away);
    await expect.poll(() => vault.health().up, { timeout: 5000 }).toBe(false);
    renameSync(away, token.tokens);
    await serving();
  });
});

it('requests beyond the queue limit fail with hsm.busy, and all others are served', async () => {
  const codes = await Promise.all(Array.from({ length: 10_050 }, () => codeOf(signChecked(ec))));
  expect(codes.filter((code) => code === 'hsm.busy')).toHaveLength(50);
  expect(codes.filter((code) => code === 'done')).toHaveLength(10_000);
});

it('the library is always initialized for threads, and never finalized or logged out', () => {
  const journal = shim.journal();
  const CKF_OS_LOCKING_OK = '2';
  expect(new Set(journal.filter(({ kind }) => kind === 'init').map(({ hex }) => hex))).toEqual(
    new Set([CKF_OS_LOCKING_OK]),
  );
  expect(journal.filter(({ kind }) => kind === 'finalize' || kind === 'logout')).toEqual([]);
  const starts = journal.filter(({ kind }) => kind === 'init').length;
  expect(journal.filter(({ kind }) => kind === 'login').length).toBeLessThanOrEqual(starts);
});
