import { Logger } from '@nestjs/common';
import autocannon from 'autocannon';
import { createHash, randomBytes } from 'node:crypto';
import { type KeyType, type SignatureScheme, signingKeyOwner, type VaultKey } from '../src/hsm/key-vault.js';
import { Authority } from '../test/support/authority.js';
import { certifiedKey } from '../test/support/certified-keys.js';
import { openVault } from '../test/support/hsm.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { serialsOf, TIMESTAMP_QUERY, TimestampClient } from '../test/support/timestamps.js';
import { CpuMeter } from './support/cpu-meter.js';
import { median } from './support/load.js';

/**
 * Measures the timestamp authority's overhead relative to the key process alone, in the same run on the same machine. Verifies that two processes that issue
 * 10,000 tokens never use the same serial number twice.
 */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 5);
const CONNECTIONS = 64;
const TOKENS = 10_000;
const MEASURED = [
  { type: 'rsa-2048', scheme: 'rsa-pkcs1v15', wanted: 0.4 },
  { type: 'ec-p256', scheme: 'ecdsa-der', wanted: 0.1 },
] as const satisfies { type: KeyType; scheme: SignatureScheme; wanted: number }[];

let stage: Stage;
let apiKey: string;
let authority: Authority;

async function measure({ type, scheme, wanted }: (typeof MEASURED)[number]): Promise<void> {
  const name = `tsa-${type}`;
  const service = await stage.start({ role: 'api', settings: { SVC_TSA_KEY: name } });
  await certifiedKey(service, apiKey, authority, { name, type, purpose: 'timestamping' });
  const raw = await keyProcessRate(name, type, scheme);
  console.log(`${`${type} key process alone`.padEnd(34)}${rate(raw)}`);
  const query = new TimestampClient(service, apiKey, authority).query(authority.keep('f', 'content'));
  const cpu = await CpuMeter.of(service, apiKey);
  const reached = await median(ROUNDS, () => stampAsFastAsItCan(`${service.url}/tsa`, query));
  console.log(`${''.padEnd(34)}${cpu.perRequest(await issued())}`);
  const ratio = reached / raw;
  const verdict = `${ratio.toFixed(2)} (wanted ${wanted}${ratio < wanted ? ', MISSED' : ''})`;
  console.log(`${`${type} tokens, durable`.padEnd(34)}${rate(reached)}  ${verdict} of the key process`);
  await service.kill();
}

/** Runs two processes on one database and checks that serial numbers are unique and that each serial number is the ID of a row with status ISSUED. */
async function assertSerialsDiffer(name: string): Promise<void> {
  const settings = { SVC_TSA_KEY: name };
  const services = await Promise.all([1, 2].map(() => stage.start({ role: 'api', settings })));
  const clients = services.map((service) => new TimestampClient(service, apiKey, authority));
  const started = performance.now();
  const serials = await serialsOf(clients, TOKENS, authority.keep('f', 'content'));
  const seconds = (performance.now() - started) / 1000;
  const rows = await stage.sql<{ id: string }>(
    `SELECT replace(id::text, '-', '') AS id FROM "timestamp" WHERE status = 'ISSUED'`,
  );
  const known = new Set(rows.map(({ id }) => id));
  const distinct = new Set(serials).size;
  if (serials.length !== TOKENS || distinct !== TOKENS || serials.some((serial) => !known.has(serial)))
    throw new Error(`${serials.length} tokens of two processes have ${distinct} serial numbers, or some have no row`);
  const count = TOKENS.toLocaleString('en');
  console.log(
    `${count} tokens of two processes in ${seconds.toFixed(1)} s: ${count} serial numbers, each with its row`,
  );
  await Promise.all(services.map((service) => service.kill()));
}

const rate = (perSecond: number) => `${Math.round(perSecond).toLocaleString('en').padStart(8)}/s`;

async function stampAsFastAsItCan(url: string, query: Buffer): Promise<number> {
  const headers = { 'content-type': TIMESTAMP_QUERY, authorization: `Bearer ${apiKey}` };
  const before = await issued();
  const options = { url, method: 'POST' as const, headers, body: query, connections: CONNECTIONS, duration: SECONDS };
  const result = await autocannon(options);
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} answers were not 2xx`);
  // A rejection is also a 200 response, so the rows are counted.
  const made = (await issued()) - before;
  if (made < result['2xx']) throw new Error(`${result['2xx']} answers, but only ${made} tokens`);
  return result['2xx'] / result.duration;
}

async function issued(): Promise<number> {
  const [row] = await stage.sql<{ count: string }>(`SELECT count(*) FROM "timestamp" WHERE status = 'ISSUED'`);
  return Number(row?.count ?? 0);
}

/** Returns the rate of the key process alone: signs and verifies through the vault, without HTTP and database. */
async function keyProcessRate(name: string, type: KeyType, scheme: SignatureScheme): Promise<number> {
  const key = await vaultKey(name, type);
  const vault = await openVault(stage.token, { SVC_PKCS11_LIBRARY: stage.settings['SVC_PKCS11_LIBRARY'] ?? '' });
  const digest = () => createHash('sha256').update(randomBytes(16)).digest();
  try {
    return await median(ROUNDS, async () => {
      const until = performance.now() + SECONDS * 1000;
      let done = 0;
      const caller = async () => {
        for (; performance.now() < until; done += 1)
          await vault.sign({ key, scheme, algorithm: 'sha256', digest: digest() });
      };
      const started = performance.now();
      await Promise.all(Array.from({ length: CONNECTIONS }, caller));
      return (done * 1000) / (performance.now() - started);
    });
  } finally {
    await vault.onApplicationShutdown();
  }
}

async function vaultKey(name: string, type: KeyType): Promise<VaultKey> {
  const [row] = await stage.sql<{ keyId: string; version: number; ckaId: Buffer; publicKey: Buffer }>(
    `SELECT key_id AS "keyId", v.version, cka_id AS "ckaId", public_key AS "publicKey" FROM signing_key_version v JOIN signing_key k ON k.id = v.key_id WHERE k.name = $1`,
    [name],
  );
  if (row === undefined) throw new Error(`no key ${name}`);
  const { keyId, version, ckaId, publicKey } = row;
  const identity = { purpose: 'timestamping', owner: signingKeyOwner(keyId, name, version) } as const;
  return { ckaId, publicKey, type, identity };
}

Logger.overrideLogger(false);
stage = await openStage();
authority = new Authority();
try {
  ({ apiKey } = await stage.seed());
  for (const one of MEASURED) await measure(one);
  await assertSerialsDiffer('tsa-ec-p256');
} finally {
  authority.remove();
  await stage.close();
}
