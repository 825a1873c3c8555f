import { createHash, createPublicKey, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KEY_TYPES, type KeyType, type SignatureScheme, type VaultKey } from '../src/hsm/key-vault.js';
import { openVault } from '../test/support/hsm.js';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { CpuMeter } from './cpu-meter.js';
import { hammer, median } from './load.js';

/**
 * What the service adds to the HSM, as ratios of figures of the same run on the same machine. The client, the API,
 * PostgreSQL, Redis and the key process share its cores. Rates are medians of ROUNDS rounds.
 */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 5);
const CONNECTIONS = 64;
const MEASURED = [
  { type: 'rsa-3072', scheme: 'rsa-pkcs1v15', wanted: 0.6 },
  { type: 'rsa-2048', scheme: 'rsa-pkcs1v15', wanted: 0.5 },
  { type: 'ec-p256', scheme: 'ecdsa-der', wanted: 0.12 },
] as const satisfies { type: KeyType; scheme: SignatureScheme; wanted: number }[];

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  for (const { type } of MEASURED) {
    const made = await service.call('POST', '/api/v1/signing-keys', { key: apiKey, body: { name: type, type } });
    expect(made.status).toBe(201);
  }
}, 120_000);
afterAll(() => stage.close());

it('signs at a good part of the rate of the HSM', async () => {
  console.log(`\n${'no-op HTTP'.padEnd(34)}${rate(await noOp())}`);
  let sync = 0;
  for (const { type, scheme, wanted } of MEASURED) {
    const raw = await keyProcessRate(type, scheme);
    sync = await syncRate(type);
    console.log(`${`${type} key process alone`.padEnd(34)}${rate(raw)}`);
    console.log(`${`${type} sync, durable`.padEnd(34)}${rate(sync)}  ${ratio(sync / raw, wanted)} of the key process`);
  }
  const background = await asyncRate('ec-p256');
  console.log(
    `${'ec-p256 async, accepted to SIGNED'.padEnd(34)}${rate(background)}  ${ratio(background / sync, 0.6)} of sync`,
  );
});

const rate = (perSecond: number) => `${Math.round(perSecond).toLocaleString('en').padStart(8)}/s`;
const ratio = (reached: number, wanted: number) =>
  `${reached.toFixed(2)} (wanted ${wanted}${reached < wanted ? ', MISSED' : ''})`;
const digest = () => createHash('sha256').update(randomBytes(16)).digest();

function noOp(): Promise<number> {
  return median(ROUNDS, () =>
    hammer({ url: `${service.url}/actuator/health/liveness`, seconds: SECONDS, connections: CONNECTIONS }),
  );
}

/** The key process's own rate, without HTTP and database: orders through the vault, signed and verified. */
async function keyProcessRate(type: KeyType, scheme: SignatureScheme): Promise<number> {
  const key = await vaultKey(type);
  const vault = await openVault(stage.token, { SVC_PKCS11_LIBRARY: stage.settings['SVC_PKCS11_LIBRARY'] ?? '' });
  try {
    return await median(ROUNDS, async () => {
      const until = performance.now() + SECONDS * 1000;
      let done = 0;
      const caller = async () => {
        while (performance.now() < until) {
          await vault.sign({ key, scheme, algorithm: 'sha256', digest: digest() });
          done += 1;
        }
      };
      const started = performance.now();
      await Promise.all(Array.from({ length: CONNECTIONS }, caller));
      return (done * 1000) / (performance.now() - started);
    });
  } finally {
    await vault.onApplicationShutdown();
  }
}

async function vaultKey(type: KeyType): Promise<VaultKey> {
  expect(KEY_TYPES).toContain(type);
  const [row] = await stage.sql<{ ckaId: Buffer; publicKey: Buffer }>(
    `SELECT cka_id AS "ckaId", public_key AS "publicKey" FROM signing_key_version v JOIN signing_key k ON k.id = v.key_id WHERE k.name = $1`,
    [type],
  );
  if (row === undefined) throw new Error(`no key ${type}`);
  createPublicKey({ key: row.publicKey, format: 'der', type: 'spki' });
  return { ...row, type };
}

async function syncRate(type: KeyType): Promise<number> {
  const cpu = await CpuMeter.of(service, apiKey);
  const perSecond = await median(ROUNDS, () =>
    hammer({
      url: `${service.url}/api/v1/sign/digest`,
      seconds: SECONDS,
      connections: CONNECTIONS,
      key: apiKey,
      body: () => ({ digest: digest().toString('base64'), key: type }),
    }),
  );
  console.log(`${''.padEnd(34)}${cpu.perRequest(await signedWith(type))}`);
  return perSecond;
}

async function signedWith(type: KeyType): Promise<number> {
  const [row] = await stage.sql<{ count: string }>(
    `SELECT count(*) FROM signing_request WHERE key_name = $1 AND status = 'SIGNED'`,
    [type],
  );
  return Number(row?.count ?? 0);
}

/** Requests from the first acceptance to the last outcome, by the clock of the database. */
async function asyncRate(type: KeyType): Promise<number> {
  const cpu = await CpuMeter.of(service, apiKey);
  let done = 0;
  const perSecond = await median(ROUNDS, async () => {
    const [{ now } = { now: '' }] = await stage.sql<{ now: string }>('SELECT now()::text AS now');
    await hammer({
      url: `${service.url}/api/v1/sign/digest`,
      seconds: SECONDS,
      connections: CONNECTIONS,
      key: apiKey,
      body: () => ({ digest: digest().toString('base64'), key: type, async: true }),
    });
    for (;;) {
      const [row] = await stage.sql<{ open: string; count: string; seconds: string }>(
        `SELECT count(*) FILTER (WHERE status <> 'SIGNED') AS open, count(*), extract(epoch FROM max(finished_at) - min(created_at)) AS seconds
         FROM signing_request WHERE created_at >= $1`,
        [now],
      );
      if (row?.open === '0') {
        done += Number(row.count);
        return Number(row.count) / Number(row.seconds);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  console.log(`${''.padEnd(34)}${cpu.perRequest(done)}`);
  return perSecond;
}
