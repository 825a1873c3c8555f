import { Logger } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { SEQUENCER_LOCK } from '../src/audit/log/log-tiles.js';
import { type KeyType, type SignatureScheme, signingKeyOwner, type VaultKey } from '../src/hsm/key-vault.js';
import { openVault } from '../test/support/hsm.js';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { CpuMeter } from './support/cpu-meter.js';
import { hammer, median, middle } from './support/load.js';

/**
 * Measures the service's overhead relative to the HSM, as ratios between rates from the same run on the same machine. The client, the API, PostgreSQL, Redis
 * and the key process share the cores of the machine. The service is warmed up first, because V8 compiles its code during the first seconds. The compared
 * operations alternate, so that a slowdown of the machine affects both operations. Figures are medians.
 */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 5);
const WARM_UP_SECONDS = 10;
/** Number of callers, which is large enough to keep the cores busy while requests wait for the group commit and the disk. */
const CONNECTIONS = 128;
const MEASURED = [
  { type: 'rsa-3072', scheme: 'rsa-pkcs1v15', wanted: 0.6 },
  { type: 'rsa-2048', scheme: 'rsa-pkcs1v15', wanted: 0.5 },
  { type: 'ec-p256', scheme: 'ecdsa-der', wanted: 0.12 },
] as const satisfies { type: KeyType; scheme: SignatureScheme; wanted: number }[];

let stage: Stage;
let service: Service;
let apiKey: string;

async function measure(): Promise<void> {
  for (const { type } of MEASURED)
    await service.call('POST', '/api/v1/signing-keys', { key: apiKey, body: { name: type, type } });
  await load('ec-p256', WARM_UP_SECONDS);
  console.log(`\n${'no-op HTTP'.padEnd(34)}${rate(await noOp())}`);
  let sync = 0;
  for (const { type, scheme, wanted } of MEASURED) sync = await sideBySide(type, scheme, wanted);
  const background = await asyncRate('ec-p256');
  console.log(
    `${'ec-p256 async, accepted to SIGNED'.padEnd(34)}${rate(background)}  ${ratio(background / sync, 0.6)} of sync`,
  );
  const kept = await shareWithTree('ec-p256');
  console.log(`${"ec-p256 sync, with the log's tree".padEnd(44)}${ratio(kept, 0.9)} of without`);
}

const rate = (perSecond: number) => `${Math.round(perSecond).toLocaleString('en').padStart(8)}/s`;
const ratio = (reached: number, wanted: number) =>
  `${reached.toFixed(2)} (wanted ${wanted}${reached < wanted ? ', MISSED' : ''})`;
const digest = () => createHash('sha256').update(randomBytes(16)).digest();

function noOp(): Promise<number> {
  return median(ROUNDS, () =>
    hammer({ url: `${service.url}/actuator/health/liveness`, seconds: SECONDS, connections: CONNECTIONS }),
  );
}

/** Alternates between the key process alone and the whole service. Returns the rate of the service. */
async function sideBySide(type: KeyType, scheme: SignatureScheme, wanted: number): Promise<number> {
  const key = await vaultKey(type);
  const rounds: { raw: number; sync: number }[] = [];
  const cpu = await CpuMeter.of(service, apiKey);
  for (let round = 0; round < ROUNDS; round++) {
    const raw = await keyProcessRate(key, scheme);
    rounds.push({ raw, sync: await cpu.during(() => load(type, SECONDS)) });
  }
  console.log(`${`${type} key process alone`.padEnd(34)}${rate(middle(rounds.map(({ raw }) => raw)))}`);
  console.log(`${''.padEnd(34)}${cpu.perRequest(rounds.reduce((sum, { sync }) => sum + sync * SECONDS, 0))}`);
  const sync = middle(rounds.map((one) => one.sync));
  const share = middle(rounds.map((one) => one.sync / one.raw));
  console.log(`${`${type} sync, durable`.padEnd(34)}${rate(sync)}  ${ratio(share, wanted)} of the key process`);
  return sync;
}

/** Returns the rate of the key process alone: signs and verifies through the vault, without HTTP and database. */
async function keyProcessRate(key: VaultKey, scheme: SignatureScheme): Promise<number> {
  const vault = await openVault(stage.token, { SVC_PKCS11_LIBRARY: stage.settings['SVC_PKCS11_LIBRARY'] ?? '' });
  try {
    const started = performance.now();
    const until = started + SECONDS * 1000;
    let done = 0;
    const caller = async () => {
      while (performance.now() < until) {
        await vault.sign({ key, scheme, algorithm: 'sha256', digest: digest() });
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, caller));
    return (done * 1000) / (performance.now() - started);
  } finally {
    await vault.onApplicationShutdown();
  }
}

async function vaultKey(type: KeyType): Promise<VaultKey> {
  const [row] = await stage.sql<{ keyId: string; version: number; ckaId: Buffer; publicKey: Buffer }>(
    `SELECT key_id AS "keyId", v.version, cka_id AS "ckaId", public_key AS "publicKey" FROM signing_key_version v JOIN signing_key k ON k.id = v.key_id WHERE k.name = $1`,
    [type],
  );
  if (row === undefined) throw new Error(`no key ${type}`);
  const { keyId, version, ckaId, publicKey } = row;
  return { ckaId, publicKey, type, identity: { purpose: 'signing', owner: signingKeyOwner(keyId, type, version) } };
}

const load = (type: KeyType, seconds: number, more: { async?: boolean } = {}) =>
  hammer({
    url: `${service.url}/api/v1/sign/digest`,
    seconds,
    connections: CONNECTIONS,
    key: apiKey,
    body: () => ({ digest: digest().toString('base64'), key: type, ...more }),
  });

/** Returns the rate of asynchronous requests from the first acceptance to the last completion, measured by the database clock. */
async function asyncRate(type: KeyType): Promise<number> {
  const cpu = await CpuMeter.of(service, apiKey);
  let done = 0;
  const oneRound = async () => {
    const [{ now } = { now: '' }] = await stage.sql<{ now: string }>('SELECT now()::text AS now');
    await load(type, SECONDS, { async: true });
    const { count, seconds } = await allSigned(now);
    done += count;
    return count / seconds;
  };
  const perSecond = await median(ROUNDS, () => cpu.during(oneRound));
  console.log(`${''.padEnd(34)}${cpu.perRequest(done)}`);
  return perSecond;
}

/**
 * Returns the signing rate with the Merkle tree over the audit log as a fraction of the rate without it. For runs without the tree, the bench holds the
 * sequencer's lock: entries are still written, and are sequenced before the next turn.
 */
async function shareWithTree(type: KeyType): Promise<number> {
  const withTree = () => load(type, SECONDS);
  const without = () => withoutSequencer(withTree);
  let turns = [without, withTree];
  return median(ROUNDS, async () => {
    const rates = new Map<() => Promise<number>, number>();
    for (const turn of turns) {
      rates.set(turn, await turn());
      await allNumbered();
    }
    // The first measurement of a turn runs with less data in the database, so the order is reversed on each turn.
    turns = turns.toReversed();
    return (rates.get(withTree) ?? 0) / (rates.get(without) ?? 1);
  });
}

async function withoutSequencer<Result>(work: () => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: stage.databaseUrl });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [SEQUENCER_LOCK]);
    return await work();
  } finally {
    await client.end();
  }
}

async function allNumbered(): Promise<void> {
  for (;;) {
    const [row] = await stage.sql<{ waiting: boolean }>('SELECT EXISTS (SELECT 1 FROM log_waiting) AS waiting');
    if (row?.waiting === false) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function allSigned(since: string): Promise<{ count: number; seconds: number }> {
  for (;;) {
    const [row] = await stage.sql<{ open: string; count: string; seconds: string }>(
      `SELECT count(*) FILTER (WHERE status <> 'SIGNED') AS open, count(*), extract(epoch FROM max(finished_at) - min(created_at)) AS seconds
       FROM signing_request WHERE created_at >= $1`,
      [since],
    );
    if (row?.open === '0') return { count: Number(row.count), seconds: Number(row.seconds) };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

Logger.overrideLogger(false);
stage = await openStage();
try {
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  await measure();
} finally {
  await stage.close();
}
