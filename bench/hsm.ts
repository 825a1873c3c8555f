/**
 * Measures signatures per second through the key process, including the round trip and the verification of every signature, and compares the rate with
 * C_Sign alone. Run:
 *   npm run bench -- hsm [sessions …]
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Logger } from '@nestjs/common';
import { Config } from '../src/platform/config/config.js';
import { CKM, CKO } from '../src/formats/pkcs/cryptoki.js';
import type { KeyVault, SignatureScheme, VaultKey } from '../src/hsm/key-vault.js';
import { Pkcs11Token, SIGNATURE_BUFFER_BYTES } from '../src/hsm/pkcs11/pkcs11-token.js';
import { digestInfo } from '../src/formats/asn1/digest-info.js';
import { createToken, newKey, openVault, type TestToken, useToken } from '../test/support/hsm.js';

export interface Load {
  readonly seconds: number;
  /** Number of callers, each of which has one signature in flight. */
  readonly concurrency: number;
}

/** Returns the signatures per second of `vault` under the load. The vault verifies each signature. */
export async function keyProcessRate(
  vault: KeyVault,
  key: VaultKey,
  scheme: SignatureScheme,
  load: Load,
): Promise<number> {
  return await rate(load, () => vault.sign({ key, scheme, algorithm: 'sha256', digest: randomBytes(32) }));
}

/** Returns the signatures per second of C_Sign alone, in this process and without verification. `concurrency` is the number of sessions. */
async function bareTokenRate(library: Pkcs11Token, key: VaultKey, load: Load): Promise<number> {
  const sessions = Array.from({ length: load.concurrency }, () => library.openSession());
  const [first] = sessions;
  const [handle] = first ? library.find(first, CKO.PRIVATE_KEY, key.ckaId) : [];
  if (!first || !handle) throw new Error('the token does not hold the key');
  const curve = key.type.startsWith('ec-');
  const mechanism = { mechanism: curve ? CKM.ECDSA : CKM.RSA_PKCS };
  const perSecond = await rate(load, async (caller) => {
    const digest = randomBytes(32);
    const data = curve ? digest : digestInfo('sha256', digest);
    await library.sign(sessions[caller] ?? first, mechanism, handle, data, Buffer.alloc(SIGNATURE_BUFFER_BYTES));
  });
  for (const session of sessions) library.closeSession(session);
  return perSecond;
}

/** Opens the token in this process. The token stays open because the library can be initialized only once. */
async function openLibrary(token: TestToken): Promise<Pkcs11Token> {
  const library = await Pkcs11Token.open(new Config(token.settings).pkcs11Library, token.label);
  library.login(library.openSession(), readFileSync(token.pinFile, 'utf8').trim());
  return library;
}

async function rate({ seconds, concurrency }: Load, once: (caller: number) => Promise<unknown>): Promise<number> {
  const run = { done: 0, over: false };
  const callers = Array.from({ length: concurrency }, async (_, caller) => {
    while (!run.over) {
      await once(caller);
      run.done += 1;
    }
  });
  const start = performance.now();
  await sleep(seconds * 1000);
  run.over = true;
  await Promise.all(callers);
  return run.done / ((performance.now() - start) / 1000);
}

/** Returns the CPU time used by a process in microseconds, derived from the kernel's 10 ms ticks. */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

const CASES = [
  ['ec-p256', 'ecdsa-der'],
  ['rsa-2048', 'rsa-pkcs1v15'],
  ['rsa-2048', 'rsa-pss'],
  ['rsa-3072', 'rsa-pkcs1v15'],
] as const;

async function vaultRow(
  vault: KeyVault,
  key: VaultKey,
  scheme: SignatureScheme,
): Promise<Record<string, string | number>> {
  const load = { seconds: 3, concurrency: 128 };
  await keyProcessRate(vault, key, scheme, { ...load, seconds: 0.5 });
  const pids = [process.pid, vault.health().pid ?? 0];
  const before = pids.map(processorTime);
  const perSecond = await keyProcessRate(vault, key, scheme, load);
  const [here = 0, there = 0] = pids.map(
    (pid, at) => (processorTime(pid) - (before[at] ?? 0)) / (perSecond * load.seconds),
  );
  const start = performance.now();
  for (let round = 0; round < 50; round += 1) {
    await vault.sign({ key, scheme, algorithm: 'sha256', digest: randomBytes(32) });
  }
  const oneCaller = (performance.now() - start) / 50;
  return {
    key: key.type,
    scheme,
    'vault/s': Math.round(perSecond),
    'callers’ CPU, µs each': Math.round(here),
    'key process’ CPU, µs each': Math.round(there),
    'a lone caller waits, ms': Number(oneCaller.toFixed(2)),
  };
}

async function main(sessionCounts: number[]): Promise<void> {
  const token = createToken();
  useToken(token);
  const library = await openLibrary(token);
  for (const sessions of sessionCounts) {
    const vault = await openVault(token, { SVC_PKCS11_SESSIONS: String(sessions) });
    const rows = [];
    for (const [type, scheme] of CASES) {
      const key = await newKey(vault, type);
      const row = await vaultRow(vault, key, scheme);
      const bare = await bareTokenRate(library, key, { seconds: 2, concurrency: sessions });
      rows.push({ ...row, 'C_Sign alone/s': Math.round(bare) });
    }
    console.log(`${sessions} sessions, 128 callers`);
    console.table(rows);
    await vault.onApplicationShutdown();
  }
  token.remove();
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  Logger.overrideLogger(['error']);
  const counts = process.argv.slice(2).map(Number);
  await main(counts.length > 0 ? counts : [4]);
}
