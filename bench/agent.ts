import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { mechanism, Pkcs11Program, ulongAttribute } from '../test/client/agent/pkcs11-program.js';
import { createKey, until } from '../test/support/signing.js';
import { openStage } from '../test/support/stage.js';
import { middle } from './support/load.js';

/**
 * Measures the latency that `sealwright agent` adds to a signature, and the agent's throughput. Run: `npm run bench -- agent`.
 * Signatures through the API alternate with signatures through the agent: one at a time for latency, concurrently for throughput. Client, agent, service and
 * stores share the machine.
 */
const TURNS = Number(process.env['BENCH_TURNS'] ?? 400);
/** Time limit for each measurement, for machines that are too slow to complete all turns. */
const MAX_TURNS_MS = 20_000;
const MAX_WARM_UP_MS = 10_000;
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 5);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);
const AT_ONCE = 32;
const WARM_UP = 300;
const MAX_ADDED_MS = 2;
const CKM_ECDSA = 0x1041;
const KEY = 'bench-agent';

const stage = await openStage();
const directory = mkdtempSync(join(tmpdir(), 'sealwright-bench-'));
const path = join(directory, 'agent', 'pkcs11');
const { apiKey } = await stage.seed();
const service = await stage.start();
await createKey(service, apiKey, { name: KEY, type: 'ec-p256', purpose: 'code-signing' });
const agent = spawn(process.execPath, ['dist/sealwright.js', 'agent', '--key', KEY, '--socket', path], {
  env: { PATH: process.env['PATH'], HOME: directory, SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey },
  stdio: ['ignore', 'ignore', 'inherit'],
});
try {
  await until('the agent listens', 10, () => Promise.resolve(existsSync(path)));
  await measure();
} finally {
  agent.kill();
  await once(agent, 'exit');
  await stage.close();
  rmSync(directory, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const load = () => (loadavg()[0] ?? 0).toFixed(1);
  const before = load();
  const program = await signer();
  await upTo(WARM_UP, MAX_WARM_UP_MS, async () => {
    await byApi();
    await program();
  });
  const api: number[] = [];
  const local: number[] = [];
  await upTo(TURNS, MAX_TURNS_MS, async () => {
    api.push(await timed(byApi));
    local.push(await timed(program));
  });
  const added = middle(local) - middle(api);
  const verdict = added > MAX_ADDED_MS ? ', MISSED' : '';
  console.log(`one at a time      API ${ms(middle(api))}  agent ${ms(middle(local))}  added ${ms(added)} (wanted at most ${MAX_ADDED_MS} ms${verdict}; ${api.length} turns)`); // prettier-ignore
  const apiRates: number[] = [];
  const agentRates: number[] = [];
  const programs = await Promise.all(Array.from({ length: AT_ONCE }, () => signer()));
  for (let round = 0; round < ROUNDS; round += 1) {
    apiRates.push(await rate(Array.from({ length: AT_ONCE }, () => byApi)));
    agentRates.push(await rate(programs));
  }
  const [apiRate, agentRate] = [middle(apiRates), middle(agentRates)];
  console.log(`${AT_ONCE} programs at once  API ${perSecond(apiRate)}  agent ${perSecond(agentRate)}  ${(agentRate / apiRate).toFixed(2)} of it`); // prettier-ignore
  console.log(`load of the machine ${before} before, ${load()} after, on ${cpus().length} cores`);
}

/** Calls `each` up to `max` times and stops early once `limitMs` has elapsed. */
async function upTo(max: number, limitMs: number, each: () => Promise<void>): Promise<void> {
  const end = performance.now() + limitMs;
  for (let turn = 0; turn < max && performance.now() < end; turn += 1) await each();
}

/** Connects a PKCS #11 client to the agent and returns a function that creates one signature. */
async function signer(): Promise<() => Promise<void>> {
  const { program, session } = await Pkcs11Program.ready(path);
  const [key = 0] = await program.find(session, ulongAttribute(0, 3));
  return async () => {
    const { code } = await program.sign(session, key, mechanism(0, CKM_ECDSA), digest());
    if (code !== 0) throw new Error(`CKR 0x${code.toString(16)}`);
  };
}

async function byApi(): Promise<void> {
  const body = { digest: digest().toString('base64'), key: KEY, scheme: 'ecdsa-raw', purpose: 'code-signing' };
  const headers = { 'idempotency-key': randomBytes(16).toString('hex') };
  const { status } = await service.call('POST', '/api/v1/sign/digest', { key: apiKey, body, headers });
  if (status !== 200) throw new Error(`HTTP ${status}`);
}

async function rate(callers: readonly (() => Promise<void>)[]): Promise<number> {
  let done = 0;
  const end = performance.now() + SECONDS * 1000;
  await Promise.all(
    callers.map(async (sign) => {
      for (; performance.now() < end; done += 1) await sign();
    }),
  );
  return done / SECONDS;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function digest(): Buffer {
  return createHash('sha256').update(randomBytes(16)).digest();
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}

function perSecond(value: number): string {
  return `${Math.round(value)}/s`;
}
